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

CREATE TABLE account (
id INTEGER NOT NULL,
email VARCHAR NOT NULL,
name VARCHAR DEFAULT '' NOT NULL,
role VARCHAR(16) NOT NULL,
sections TEXT DEFAULT '[]' NOT NULL,
active BOOLEAN DEFAULT true NOT NULL,
CONSTRAINT pk_account PRIMARY KEY (id),
CONSTRAINT uq_account_email UNIQUE (email)
)

CREATE TABLE credential (
id INTEGER NOT NULL,
who VARCHAR NOT NULL,
kind VARCHAR(16) NOT NULL,
name VARCHAR DEFAULT '' NOT NULL,
digest VARCHAR NOT NULL,
scopes TEXT DEFAULT '[]' NOT NULL,
made DATETIME NOT NULL,
expires DATETIME NOT NULL,
ended DATETIME,
CONSTRAINT pk_credential PRIMARY KEY (id)
)

CREATE INDEX ix_credential_digest ON credential (digest)

CREATE INDEX ix_credential_who ON credential (who)

CREATE TABLE extension (
id INTEGER NOT NULL,
lab VARCHAR NOT NULL,
student VARCHAR NOT NULL,
due DATETIME,
author VARCHAR NOT NULL,
reason TEXT NOT NULL,
at DATETIME NOT NULL,
CONSTRAINT pk_extension PRIMARY KEY (id),
CONSTRAINT fk_extension_student FOREIGN KEY(student) REFERENCES student (id)
)

CREATE INDEX ix_extension_lab_student ON extension (lab, student)

CREATE TABLE progress (
id INTEGER NOT NULL,
submission INTEGER NOT NULL,
kind VARCHAR(16) NOT NULL,
body TEXT DEFAULT '{}' NOT NULL,
at DATETIME NOT NULL,
CONSTRAINT pk_progress PRIMARY KEY (id),
CONSTRAINT fk_progress_submission FOREIGN KEY(submission) REFERENCES submission (id)
)

CREATE INDEX ix_progress_submission ON progress (submission)

CREATE TRIGGER extension_kept_update BEFORE UPDATE ON extension BEGIN SELECT RAISE(ABORT, 'rows of extension stay as they are'); END

CREATE TRIGGER extension_kept_delete BEFORE DELETE ON extension BEGIN SELECT RAISE(ABORT, 'rows of extension stay as they are'); END

CREATE TABLE request (
id INTEGER NOT NULL,
submission INTEGER NOT NULL,
score FLOAT NOT NULL,
most FLOAT NOT NULL,
status VARCHAR(16) NOT NULL,
at DATETIME NOT NULL,
CONSTRAINT pk_request PRIMARY KEY (id),
CONSTRAINT ck_request_ck_request_status CHECK (status IN ('open', 'answered', 'closed')),
CONSTRAINT fk_request_submission FOREIGN KEY(submission) REFERENCES submission (id)
)

CREATE INDEX ix_request_submission ON request (submission)

CREATE TABLE message (
id INTEGER NOT NULL,
request INTEGER NOT NULL,
author VARCHAR NOT NULL,
staff BOOLEAN NOT NULL,
body TEXT NOT NULL,
at DATETIME NOT NULL,
CONSTRAINT pk_message PRIMARY KEY (id),
CONSTRAINT fk_message_request FOREIGN KEY(request) REFERENCES request (id)
)

CREATE INDEX ix_message_request ON message (request)

CREATE TABLE comment (
id INTEGER NOT NULL,
submission INTEGER NOT NULL,
line INTEGER NOT NULL,
author VARCHAR NOT NULL,
body TEXT NOT NULL,
at DATETIME NOT NULL,
removed BOOLEAN DEFAULT false NOT NULL,
CONSTRAINT pk_comment PRIMARY KEY (id),
CONSTRAINT fk_comment_submission FOREIGN KEY(submission) REFERENCES submission (id)
)

CREATE INDEX ix_comment_submission ON comment (submission)

CREATE TABLE release_rule (
id INTEGER NOT NULL,
lab VARCHAR NOT NULL,
moment DATETIME,
held BOOLEAN NOT NULL,
author VARCHAR NOT NULL,
reason TEXT NOT NULL,
at DATETIME NOT NULL,
CONSTRAINT pk_release_rule PRIMARY KEY (id)
)

CREATE INDEX ix_release_rule_lab ON release_rule (lab)

CREATE TABLE choice (
id INTEGER NOT NULL,
lab VARCHAR NOT NULL,
student VARCHAR NOT NULL,
submission INTEGER NOT NULL,
author VARCHAR NOT NULL,
at DATETIME NOT NULL,
CONSTRAINT pk_choice PRIMARY KEY (id),
CONSTRAINT fk_choice_student FOREIGN KEY(student) REFERENCES student (id),
CONSTRAINT fk_choice_submission FOREIGN KEY(submission) REFERENCES submission (id)
)

CREATE INDEX ix_choice_lab_student ON choice (lab, student)

CREATE TABLE regrade (
id INTEGER NOT NULL,
lab VARCHAR NOT NULL,
students TEXT DEFAULT '[]' NOT NULL,
state VARCHAR(16) NOT NULL,
author VARCHAR NOT NULL,
reason TEXT NOT NULL,
at DATETIME NOT NULL,
CONSTRAINT pk_regrade PRIMARY KEY (id),
CONSTRAINT ck_regrade_ck_regrade_state CHECK (state IN ('open', 'adopted', 'rejected'))
)

CREATE TRIGGER message_kept_update BEFORE UPDATE ON message BEGIN SELECT RAISE(ABORT, 'rows of message stay as they are'); END

CREATE TRIGGER message_kept_delete BEFORE DELETE ON message BEGIN SELECT RAISE(ABORT, 'rows of message stay as they are'); END

CREATE TRIGGER release_rule_kept_update BEFORE UPDATE ON release_rule BEGIN SELECT RAISE(ABORT, 'rows of release_rule stay as they are'); END

CREATE TRIGGER release_rule_kept_delete BEFORE DELETE ON release_rule BEGIN SELECT RAISE(ABORT, 'rows of release_rule stay as they are'); END

CREATE TRIGGER choice_kept_update BEFORE UPDATE ON choice BEGIN SELECT RAISE(ABORT, 'rows of choice stay as they are'); END

CREATE TRIGGER choice_kept_delete BEFORE DELETE ON choice BEGIN SELECT RAISE(ABORT, 'rows of choice stay as they are'); END

CREATE TRIGGER request_kept_delete BEFORE DELETE ON request BEGIN SELECT RAISE(ABORT, 'rows of request stay as they are'); END

CREATE TRIGGER comment_kept_delete BEFORE DELETE ON comment BEGIN SELECT RAISE(ABORT, 'rows of comment stay as they are'); END

CREATE TRIGGER regrade_kept_delete BEFORE DELETE ON regrade BEGIN SELECT RAISE(ABORT, 'rows of regrade stay as they are'); END

CREATE TABLE worker (
id INTEGER NOT NULL,
name VARCHAR NOT NULL,
backend VARCHAR(16) NOT NULL,
device VARCHAR DEFAULT '' NOT NULL,
jobs INTEGER NOT NULL,
version VARCHAR NOT NULL,
started DATETIME NOT NULL,
seen DATETIME NOT NULL,
ended DATETIME,
note TEXT DEFAULT '' NOT NULL,
CONSTRAINT pk_worker PRIMARY KEY (id),
CONSTRAINT uq_worker_name UNIQUE (name)
)

CREATE TABLE board_entry (
lab VARCHAR NOT NULL,
student VARCHAR NOT NULL,
pseudonym VARCHAR DEFAULT '' NOT NULL,
folded VARCHAR,
hidden BOOLEAN DEFAULT false NOT NULL,
reason TEXT DEFAULT '' NOT NULL,
at DATETIME NOT NULL,
CONSTRAINT pk_board_entry PRIMARY KEY (lab, student),
CONSTRAINT uq_board_entry_lab_folded UNIQUE (lab, folded),
CONSTRAINT fk_board_entry_student FOREIGN KEY(student) REFERENCES student (id)
)

CREATE TABLE board_mark (
lab VARCHAR NOT NULL,
lab_sha256 VARCHAR(64) NOT NULL,
marks TEXT NOT NULL,
at DATETIME NOT NULL,
CONSTRAINT pk_board_mark PRIMARY KEY (lab)
)

CREATE TRIGGER board_entry_kept_delete BEFORE DELETE ON board_entry BEGIN SELECT RAISE(ABORT, 'rows of board_entry stay as they are'); END

CREATE TABLE course_extension (
id INTEGER NOT NULL,
lab VARCHAR NOT NULL,
student VARCHAR NOT NULL,
due DATETIME,
reason TEXT NOT NULL,
at DATETIME NOT NULL,
CONSTRAINT pk_course_extension PRIMARY KEY (id),
CONSTRAINT fk_course_extension_student FOREIGN KEY(student) REFERENCES student (id)
)

CREATE INDEX ix_course_extension_lab_student ON course_extension (lab, student)

CREATE TABLE membership (
id INTEGER NOT NULL,
lab VARCHAR NOT NULL,
student VARCHAR NOT NULL,
team VARCHAR,
staff BOOLEAN NOT NULL,
author VARCHAR NOT NULL,
reason TEXT NOT NULL,
at DATETIME NOT NULL,
CONSTRAINT pk_membership PRIMARY KEY (id),
CONSTRAINT fk_membership_student FOREIGN KEY(student) REFERENCES student (id)
)

CREATE INDEX ix_membership_lab_student ON membership (lab, student)

CREATE TABLE coauthor (
id INTEGER NOT NULL,
submission INTEGER NOT NULL,
student VARCHAR NOT NULL,
since DATETIME,
CONSTRAINT pk_coauthor PRIMARY KEY (id),
CONSTRAINT uq_coauthor_submission_student UNIQUE (submission, student),
CONSTRAINT fk_coauthor_submission FOREIGN KEY(submission) REFERENCES submission (id),
CONSTRAINT fk_coauthor_student FOREIGN KEY(student) REFERENCES student (id)
)

CREATE INDEX ix_coauthor_student ON coauthor (student)

CREATE TRIGGER course_extension_kept_update BEFORE UPDATE ON course_extension BEGIN SELECT RAISE(ABORT, 'rows of course_extension stay as they are'); END

CREATE TRIGGER course_extension_kept_delete BEFORE DELETE ON course_extension BEGIN SELECT RAISE(ABORT, 'rows of course_extension stay as they are'); END

CREATE TRIGGER membership_kept_update BEFORE UPDATE ON membership BEGIN SELECT RAISE(ABORT, 'rows of membership stay as they are'); END

CREATE TRIGGER membership_kept_delete BEFORE DELETE ON membership BEGIN SELECT RAISE(ABORT, 'rows of membership stay as they are'); END

CREATE TRIGGER coauthor_kept_update BEFORE UPDATE ON coauthor BEGIN SELECT RAISE(ABORT, 'rows of coauthor stay as they are'); END

CREATE TRIGGER coauthor_kept_delete BEFORE DELETE ON coauthor BEGIN SELECT RAISE(ABORT, 'rows of coauthor stay as they are'); END

CREATE TABLE lti_registration (
id INTEGER NOT NULL,
issuer VARCHAR NOT NULL,
client_id VARCHAR NOT NULL,
name VARCHAR NOT NULL,
auth_url VARCHAR NOT NULL,
token_url VARCHAR NOT NULL,
jwks_url VARCHAR NOT NULL,
audience VARCHAR DEFAULT '' NOT NULL,
origins TEXT DEFAULT '[]' NOT NULL,
active BOOLEAN DEFAULT true NOT NULL,
CONSTRAINT pk_lti_registration PRIMARY KEY (id),
CONSTRAINT uq_lti_registration_issuer_client_id UNIQUE (issuer, client_id)
)

CREATE TABLE lti_deployment (
id INTEGER NOT NULL,
registration INTEGER NOT NULL,
deployment VARCHAR NOT NULL,
active BOOLEAN DEFAULT true NOT NULL,
CONSTRAINT pk_lti_deployment PRIMARY KEY (id),
CONSTRAINT uq_lti_deployment_registration_deployment UNIQUE (registration, deployment),
CONSTRAINT fk_lti_deployment_registration FOREIGN KEY(registration) REFERENCES lti_registration (id)
)

CREATE TABLE lti_link (
id INTEGER NOT NULL,
deployment INTEGER NOT NULL,
context VARCHAR NOT NULL,
resource VARCHAR NOT NULL,
lab VARCHAR DEFAULT '' NOT NULL,
title VARCHAR DEFAULT '' NOT NULL,
line_item VARCHAR DEFAULT '' NOT NULL,
line_items VARCHAR DEFAULT '' NOT NULL,
members_url VARCHAR DEFAULT '' NOT NULL,
scopes TEXT DEFAULT '[]' NOT NULL,
at DATETIME NOT NULL,
CONSTRAINT pk_lti_link PRIMARY KEY (id),
CONSTRAINT uq_lti_link_deployment_context_resource UNIQUE (deployment, context, resource),
CONSTRAINT fk_lti_link_deployment FOREIGN KEY(deployment) REFERENCES lti_deployment (id)
)

CREATE TABLE lti_person (
id INTEGER NOT NULL,
registration INTEGER NOT NULL,
sub VARCHAR NOT NULL,
who VARCHAR NOT NULL,
at DATETIME NOT NULL,
CONSTRAINT pk_lti_person PRIMARY KEY (id),
CONSTRAINT uq_lti_person_registration_sub UNIQUE (registration, sub),
CONSTRAINT fk_lti_person_registration FOREIGN KEY(registration) REFERENCES lti_registration (id)
)

CREATE INDEX ix_lti_person_who ON lti_person (who)

CREATE TABLE lti_nonce (
registration INTEGER NOT NULL,
digest VARCHAR(64) NOT NULL,
expires DATETIME NOT NULL,
CONSTRAINT pk_lti_nonce PRIMARY KEY (registration, digest),
CONSTRAINT fk_lti_nonce_registration FOREIGN KEY(registration) REFERENCES lti_registration (id)
)

CREATE INDEX ix_lti_nonce_expires ON lti_nonce (expires)

CREATE TABLE lti_invite (
id INTEGER NOT NULL,
digest VARCHAR(64) NOT NULL,
author VARCHAR NOT NULL,
expires DATETIME NOT NULL,
used DATETIME,
CONSTRAINT pk_lti_invite PRIMARY KEY (id),
CONSTRAINT uq_lti_invite_digest UNIQUE (digest)
)

CREATE TABLE lti_score (
link INTEGER NOT NULL,
person INTEGER NOT NULL,
points FLOAT,
most FLOAT,
at DATETIME,
sent VARCHAR(64) DEFAULT '' NOT NULL,
wanted VARCHAR(64) DEFAULT '' NOT NULL,
tries INTEGER DEFAULT 0 NOT NULL,
next_try DATETIME,
error TEXT DEFAULT '' NOT NULL, state VARCHAR(16) DEFAULT '' NOT NULL, submission INTEGER, stamp DATETIME, failed BOOLEAN DEFAULT false NOT NULL, worker VARCHAR DEFAULT '' NOT NULL, lease_until DATETIME, token VARCHAR(32) DEFAULT '' NOT NULL,
CONSTRAINT pk_lti_score PRIMARY KEY (link, person),
CONSTRAINT fk_lti_score_link FOREIGN KEY(link) REFERENCES lti_link (id),
CONSTRAINT fk_lti_score_person FOREIGN KEY(person) REFERENCES lti_person (id)
)

CREATE INDEX ix_lti_score_next_try ON lti_score (next_try)

CREATE TRIGGER lti_registration_kept_delete BEFORE DELETE ON lti_registration BEGIN SELECT RAISE(ABORT, 'rows of lti_registration stay as they are'); END

CREATE TRIGGER lti_deployment_kept_delete BEFORE DELETE ON lti_deployment BEGIN SELECT RAISE(ABORT, 'rows of lti_deployment stay as they are'); END

CREATE TRIGGER lti_link_kept_delete BEFORE DELETE ON lti_link BEGIN SELECT RAISE(ABORT, 'rows of lti_link stay as they are'); END

CREATE TRIGGER lti_person_kept_delete BEFORE DELETE ON lti_person BEGIN SELECT RAISE(ABORT, 'rows of lti_person stay as they are'); END

CREATE TABLE lti_item (
link INTEGER NOT NULL,
address VARCHAR DEFAULT '' NOT NULL,
tries INTEGER DEFAULT 0 NOT NULL,
next_try DATETIME,
error TEXT DEFAULT '' NOT NULL,
worker VARCHAR DEFAULT '' NOT NULL,
lease_until DATETIME,
token VARCHAR(32) DEFAULT '' NOT NULL,
CONSTRAINT pk_lti_item PRIMARY KEY (link),
CONSTRAINT fk_lti_item_link FOREIGN KEY(link) REFERENCES lti_link (id)
)

CREATE TABLE lti_member (
link INTEGER NOT NULL,
person INTEGER NOT NULL,
at DATETIME NOT NULL,
CONSTRAINT pk_lti_member PRIMARY KEY (link, person),
CONSTRAINT fk_lti_member_link FOREIGN KEY(link) REFERENCES lti_link (id),
CONSTRAINT fk_lti_member_person FOREIGN KEY(person) REFERENCES lti_person (id)
)

INSERT INTO alembic_version VALUES ('12')
