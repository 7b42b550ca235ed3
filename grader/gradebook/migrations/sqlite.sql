-- Made from the migrations by: python -m tests.gradebook.schema

CREATE TABLE alembic_version (
version_num VARCHAR(32) NOT NULL,
CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
)

CREATE TABLE student (
id VARCHAR NOT NULL,
name VARCHAR DEFAULT '' NOT NULL,
email VARCHAR DEFAULT '' NOT NULL,
sis_id VARCHAR DEFAULT '' NOT NULL,
login VARCHAR DEFAULT '' NOT NULL,
section VARCHAR DEFAULT '' NOT NULL,
enrolled BOOLEAN DEFAULT false NOT NULL,
CONSTRAINT pk_student PRIMARY KEY (id)
)

CREATE TABLE submission (
id INTEGER NOT NULL,
lab VARCHAR NOT NULL,
student VARCHAR NOT NULL,
name VARCHAR NOT NULL,
sha256 VARCHAR(64) NOT NULL,
data BLOB NOT NULL,
answers BLOB,
answers_sha256 VARCHAR(64) DEFAULT '' NOT NULL,
received DATETIME NOT NULL,
stored DATETIME NOT NULL,
source VARCHAR DEFAULT '' NOT NULL, told BOOLEAN DEFAULT true NOT NULL, late BOOLEAN DEFAULT false NOT NULL,
CONSTRAINT pk_submission PRIMARY KEY (id),
CONSTRAINT fk_submission_student FOREIGN KEY(student) REFERENCES student (id),
CONSTRAINT uq_submission_lab_student_sha256_answers_sha256 UNIQUE (lab, student, sha256, answers_sha256)
)

CREATE INDEX ix_submission_sha256 ON submission (sha256)

CREATE TABLE attempt (
id INTEGER NOT NULL,
submission INTEGER NOT NULL,
"key" VARCHAR NOT NULL,
proposal VARCHAR DEFAULT '' NOT NULL,
number INTEGER NOT NULL,
token VARCHAR(32) NOT NULL,
worker VARCHAR NOT NULL,
state VARCHAR(16) NOT NULL,
started DATETIME NOT NULL,
lease_until DATETIME NOT NULL,
ended DATETIME,
grade_json TEXT,
reason TEXT DEFAULT '' NOT NULL, grade_sha256 VARCHAR(64) DEFAULT '' NOT NULL,
CONSTRAINT pk_attempt PRIMARY KEY (id),
CONSTRAINT fk_attempt_submission FOREIGN KEY(submission) REFERENCES submission (id),
CONSTRAINT uq_attempt_token UNIQUE (token),
CONSTRAINT uq_attempt_submission_number UNIQUE (submission, number),
CONSTRAINT ck_attempt_ck_attempt_state CHECK (state IN ('running', 'accepted', 'proposed', 'fault', 'forgiven', 'released', 'expired', 'rejected')),
CONSTRAINT ck_attempt_ck_attempt_graded CHECK (state NOT IN ('accepted', 'proposed') OR grade_json IS NOT NULL),
CONSTRAINT ck_attempt_ck_attempt_proposed CHECK (state <> 'proposed' OR proposal <> '')
)

CREATE UNIQUE INDEX uq_attempt_running ON attempt (submission, "key", proposal) WHERE state = 'running'

CREATE UNIQUE INDEX uq_attempt_kept ON attempt (submission, "key", proposal) WHERE state IN ('accepted', 'proposed')

CREATE TABLE grade (
submission INTEGER NOT NULL,
attempt INTEGER NOT NULL,
since DATETIME NOT NULL,
CONSTRAINT pk_grade PRIMARY KEY (submission),
CONSTRAINT fk_grade_submission FOREIGN KEY(submission) REFERENCES submission (id),
CONSTRAINT fk_grade_attempt FOREIGN KEY(attempt) REFERENCES attempt (id),
CONSTRAINT uq_grade_attempt UNIQUE (attempt)
)

CREATE TABLE override (
id INTEGER NOT NULL,
lab VARCHAR NOT NULL,
student VARCHAR NOT NULL,
points FLOAT,
author VARCHAR NOT NULL,
reason TEXT NOT NULL,
at DATETIME NOT NULL,
CONSTRAINT pk_override PRIMARY KEY (id),
CONSTRAINT fk_override_student FOREIGN KEY(student) REFERENCES student (id)
)

CREATE INDEX ix_override_lab_student ON override (lab, student)

CREATE TABLE standing (
lab VARCHAR NOT NULL,
student VARCHAR NOT NULL,
points FLOAT,
note TEXT DEFAULT '' NOT NULL,
at DATETIME NOT NULL,
CONSTRAINT pk_standing PRIMARY KEY (lab, student),
CONSTRAINT fk_standing_student FOREIGN KEY(student) REFERENCES student (id)
)

CREATE TABLE audit (
id INTEGER NOT NULL,
at DATETIME NOT NULL,
actor VARCHAR NOT NULL,
action VARCHAR NOT NULL,
lab VARCHAR DEFAULT '' NOT NULL,
student VARCHAR DEFAULT '' NOT NULL,
submission INTEGER,
attempt INTEGER,
"before" TEXT,
"after" TEXT,
reason TEXT DEFAULT '' NOT NULL, records TEXT DEFAULT '[]' NOT NULL, digest VARCHAR(64) DEFAULT '' NOT NULL,
CONSTRAINT pk_audit PRIMARY KEY (id)
)

CREATE INDEX ix_audit_lab_student ON audit (lab, student)

CREATE TRIGGER audit_kept_delete BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'rows of audit stay as they are'); END

CREATE TRIGGER override_kept_update BEFORE UPDATE ON override BEGIN SELECT RAISE(ABORT, 'rows of override stay as they are'); END

CREATE TRIGGER override_kept_delete BEFORE DELETE ON override BEGIN SELECT RAISE(ABORT, 'rows of override stay as they are'); END

CREATE TRIGGER submission_kept_delete BEFORE DELETE ON submission BEGIN SELECT RAISE(ABORT, 'rows of submission stay as they are'); END

CREATE TRIGGER attempt_kept_delete BEFORE DELETE ON attempt BEGIN SELECT RAISE(ABORT, 'rows of attempt stay as they are'); END

CREATE TRIGGER submission_kept_columns BEFORE UPDATE OF lab, student, sha256, data, answers, answers_sha256 ON submission FOR EACH ROW BEGIN SELECT RAISE(ABORT, 'rows of submission stay as they are'); END

CREATE TRIGGER attempt_kept_columns BEFORE UPDATE OF grade_json ON attempt FOR EACH ROW WHEN (OLD.grade_json IS NOT NULL) BEGIN SELECT RAISE(ABORT, 'rows of attempt stay as they are'); END

CREATE TRIGGER audit_kept_update BEFORE UPDATE ON audit FOR EACH ROW BEGIN SELECT RAISE(ABORT, 'rows of audit stay as they are'); END

CREATE TRIGGER student_kept_identity BEFORE UPDATE OF id ON student FOR EACH ROW WHEN (OLD.id <> NEW.id) BEGIN SELECT RAISE(ABORT, 'rows of student stay as they are'); END

CREATE TRIGGER submission_kept_identity BEFORE UPDATE OF id, name, stored, source ON submission FOR EACH ROW BEGIN SELECT RAISE(ABORT, 'rows of submission stay as they are'); END

CREATE TRIGGER attempt_kept_identity BEFORE UPDATE OF id, submission, key, proposal, number, token, worker, started ON attempt FOR EACH ROW BEGIN SELECT RAISE(ABORT, 'rows of attempt stay as they are'); END

CREATE TRIGGER grade_kept_identity BEFORE UPDATE OF submission ON grade FOR EACH ROW BEGIN SELECT RAISE(ABORT, 'rows of grade stay as they are'); END

CREATE TRIGGER attempt_kept_digest BEFORE UPDATE OF grade_sha256 ON attempt FOR EACH ROW WHEN (OLD.grade_sha256 <> '') BEGIN SELECT RAISE(ABORT, 'rows of attempt stay as they are'); END

CREATE TRIGGER attempt_kept_accepted BEFORE UPDATE OF state ON attempt FOR EACH ROW WHEN (OLD.state IN ('accepted', 'rejected')) BEGIN SELECT RAISE(ABORT, 'rows of attempt stay as they are'); END

CREATE TRIGGER grade_kept_delete BEFORE DELETE ON grade FOR EACH ROW BEGIN SELECT RAISE(ABORT, 'rows of grade stay as they are'); END

CREATE TRIGGER student_kept_delete BEFORE DELETE ON student FOR EACH ROW BEGIN SELECT RAISE(ABORT, 'rows of student stay as they are'); END

CREATE TRIGGER student_kept_insert BEFORE INSERT ON student FOR EACH ROW WHEN (EXISTS (SELECT 1 FROM student WHERE id = NEW.id)) BEGIN SELECT RAISE(ABORT, 'rows of student stay as they are'); END

CREATE TRIGGER submission_kept_insert BEFORE INSERT ON submission FOR EACH ROW WHEN (EXISTS (SELECT 1 FROM submission WHERE id = NEW.id) OR EXISTS (SELECT 1 FROM submission WHERE lab = NEW.lab AND student = NEW.student AND sha256 = NEW.sha256 AND answers_sha256 = NEW.answers_sha256)) BEGIN SELECT RAISE(ABORT, 'rows of submission stay as they are'); END

CREATE TRIGGER attempt_kept_insert BEFORE INSERT ON attempt FOR EACH ROW WHEN (EXISTS (SELECT 1 FROM attempt WHERE id = NEW.id) OR EXISTS (SELECT 1 FROM attempt WHERE token = NEW.token) OR EXISTS (SELECT 1 FROM attempt WHERE submission = NEW.submission AND number = NEW.number) OR EXISTS (SELECT 1 FROM attempt WHERE submission = NEW.submission AND key = NEW.key AND proposal = NEW.proposal AND state = 'running' AND NEW.state = 'running') OR EXISTS (SELECT 1 FROM attempt WHERE submission = NEW.submission AND key = NEW.key AND proposal = NEW.proposal AND state IN ('accepted', 'proposed') AND NEW.state IN ('accepted', 'proposed'))) BEGIN SELECT RAISE(ABORT, 'rows of attempt stay as they are'); END

CREATE TRIGGER grade_kept_insert BEFORE INSERT ON grade FOR EACH ROW WHEN (EXISTS (SELECT 1 FROM grade WHERE submission = NEW.submission) OR EXISTS (SELECT 1 FROM grade WHERE attempt = NEW.attempt)) BEGIN SELECT RAISE(ABORT, 'rows of grade stay as they are'); END

CREATE TRIGGER override_kept_insert BEFORE INSERT ON override FOR EACH ROW WHEN (EXISTS (SELECT 1 FROM override WHERE id = NEW.id)) BEGIN SELECT RAISE(ABORT, 'rows of override stay as they are'); END

CREATE TRIGGER audit_kept_insert BEFORE INSERT ON audit FOR EACH ROW WHEN (EXISTS (SELECT 1 FROM audit WHERE id = NEW.id)) BEGIN SELECT RAISE(ABORT, 'rows of audit stay as they are'); END

CREATE TRIGGER attempt_kept_replace BEFORE UPDATE ON attempt FOR EACH ROW WHEN (EXISTS (SELECT 1 FROM attempt WHERE rowid <> OLD.rowid AND id = NEW.id) OR EXISTS (SELECT 1 FROM attempt WHERE rowid <> OLD.rowid AND token = NEW.token) OR EXISTS (SELECT 1 FROM attempt WHERE rowid <> OLD.rowid AND submission = NEW.submission AND number = NEW.number) OR EXISTS (SELECT 1 FROM attempt WHERE rowid <> OLD.rowid AND submission = NEW.submission AND key = NEW.key AND proposal = NEW.proposal AND state = 'running' AND NEW.state = 'running') OR EXISTS (SELECT 1 FROM attempt WHERE rowid <> OLD.rowid AND submission = NEW.submission AND key = NEW.key AND proposal = NEW.proposal AND state IN ('accepted', 'proposed') AND NEW.state IN ('accepted', 'proposed'))) BEGIN SELECT RAISE(ABORT, 'rows of attempt stay as they are'); END

CREATE TRIGGER grade_kept_replace BEFORE UPDATE ON grade FOR EACH ROW WHEN (EXISTS (SELECT 1 FROM grade WHERE rowid <> OLD.rowid AND submission = NEW.submission) OR EXISTS (SELECT 1 FROM grade WHERE rowid <> OLD.rowid AND attempt = NEW.attempt)) BEGIN SELECT RAISE(ABORT, 'rows of grade stay as they are'); END

INSERT INTO alembic_version VALUES ('5')
