// Shows the events of a submission as they come, takes a file that is dropped on the form, and
// decides which answers may replace a part of a page that refreshes itself.
"use strict";

const now = document.getElementById("now");

let begun = now ? Date.parse(now.dataset.begun) : NaN;

// Adds what happened; of a step also the time since its grading started.
function line(text, at) {
  const item = document.createElement("li");
  item.textContent = text;
  if (at > begun || at === begun) {
    const after = document.createElement("small");
    after.textContent = ` after ${((at - begun) / 1000).toFixed(3)} s`;
    item.append(after);
  }
  document.getElementById("steps").append(item);
  now.textContent = text;
}

// Puts the feedback in the place of the waiting page; the address is the same.
async function showFeedback() {
  if (!window.htmx) return location.reload();
  const content = "#content";
  await htmx.ajax("GET", location.href, { source: now, target: content, select: content, swap: "outerHTML" });
  const heading = document.querySelector("h1");
  if (!heading || document.getElementById("now")) return location.reload();
  heading.tabIndex = -1;
  heading.focus();
}

function told(event) {
  const body = JSON.parse(event.data);
  if (body.kind === "graded") showFeedback();
  else if (body.kind === "started") { begun = Date.parse(body.at); line("grading starts"); }
  else if (body.kind === "step") line(`${body.step}: step ${body.number} of ${body.steps}`, Date.parse(body.at));
  else if (body.kind === "fault") line(body.again ? "this machine failed; it is tried again" : "this machine failed; the staff will have it graded again");
  else line("stored");
}

if (now && now.dataset.events && "EventSource" in window) {
  const source = new EventSource(`${now.dataset.events}?after=${now.dataset.last}`);
  for (const kind of ["queued", "started", "step", "fault", "graded"]) source.addEventListener(kind, told);
}

// Nobody sees a page in the background: it asks for nothing.
document.addEventListener("htmx:before:request", (event) => {
  if (document.hidden && event.detail.ctx.sourceElement !== now) event.preventDefault();
});

// An error or the page to sign in must not take the place of what stands.
document.addEventListener("htmx:before:swap", (event) => {
  const answer = event.detail.ctx.response?.raw;
  const found = event.detail.tasks.find((task) => task.type === "main")?.fragment.childElementCount;
  if (!answer?.ok || answer.redirected || !found) event.preventDefault();
});

for (const form of document.querySelectorAll("form[data-drop]")) {
  const input = form.querySelector("input[type=file]");
  form.addEventListener("dragover", (event) => { event.preventDefault(); form.classList.add("over"); });
  form.addEventListener("dragleave", () => form.classList.remove("over"));
  form.addEventListener("drop", (event) => {
    event.preventDefault();
    form.classList.remove("over");
    if (event.dataTransfer.files.length) input.files = event.dataTransfer.files;
  });
}
