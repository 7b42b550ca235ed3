"use strict";
// A launch from a learning platform: keeps the proof of its beginning where the browser lets it, in
// a cookie or in the platform's frame (LTI postMessage Storage), and opens the lab in this frame if
// it can. Whatever does not work leaves the page's buttons.

const PATIENCE = 3000; // milliseconds for the platform's frame to answer
const main = document.getElementById("lti");
const { task, flow, proof, storage, origin, to } = main.dataset;
const key = `warpgrade-${flow}`;

function waiting(waits) {
  document.getElementById("wait").hidden = !waits;
  document.getElementById("choice").hidden = waits;
}

// Returns the platform's frame that keeps data.
function frame() {
  const host = window.parent !== window ? window.parent : window.opener;
  if (!host || !storage) return null;
  return storage === "_parent" ? host : host.frames[storage] || null;
}

// Sends the platform's frame a message; returns its answer, or null without one.
function ask(subject, fields) {
  const keeper = frame();
  if (!keeper) return Promise.resolve(null);
  const id = crypto.randomUUID();
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(null), PATIENCE);
    window.addEventListener("message", (event) => {
      const body = event.data;
      if (event.origin !== origin || event.source !== keeper || !body) return;
      if (body.subject !== `${subject}.response` || body.message_id !== id) return;
      clearTimeout(timer);
      resolve(body.error ? null : body);
    });
    keeper.postMessage({ subject, message_id: id, ...fields }, origin);
  });
}

async function isKept(query) {
  const answer = await fetch(`/lti/kept${query}`, { credentials: "same-origin" });
  return answer.ok && (await answer.json()).kept;
}

async function begin() {
  if (await isKept(`?flow=${flow}`)) return location.replace(to);
  const answer = await ask("lti.put_data", { key, value: proof });
  if (answer && answer.value === proof) return location.replace(to);
  waiting(false);
}

async function prove() {
  const answer = await ask("lti.get_data", { key });
  if (!answer || typeof answer.value !== "string") return waiting(false);
  ask("lti.put_data", { key, value: null }); // it is used: nobody waits for that
  const form = document.getElementById("proof");
  form.elements.proof.value = answer.value;
  form.submit();
}

async function enter() {
  if (await isKept("")) return location.replace(to);
  waiting(false);
}

function close() {
  const host = window.opener || window.parent;
  host.postMessage({ subject: "org.imsglobal.lti.close" }, "*");
}

const tasks = { begin, prove, enter, close, send: () => document.querySelector("form").submit() };
if (document.getElementById("wait")) waiting(true);
Promise.resolve(tasks[task]()).catch(() => waiting(false));
