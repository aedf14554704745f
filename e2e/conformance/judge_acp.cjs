// Judges recorded ACP messages by the schema that the protocol publishes, and prints what it found as JSON:
//   node judge_acp.cjs VALIDATOR SCHEMA [CLIENT AGENT]...
// VALIDATOR is the folder of the package `ajv`. CLIENT has the messages of a client, AGENT those of its agent, one a line.
'use strict';
const { readFileSync } = require('node:fs');

const [validator, schemaFile, ...files] = process.argv.slice(2);
const Ajv = require(`${validator}/dist/2020.js`).default;
const schema = JSON.parse(readFileSync(schemaFile, 'utf8'));
// The schema has annotations of its own, and formats that say the size of numbers.
const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
ajv.addSchema(schema, 'acp');

const compiled = new Map();
function errorsOf(definition, value) {
  if (!compiled.has(definition)) compiled.set(definition, ajv.compile({ $ref: `acp#/$defs/${definition}` }));
  const validate = compiled.get(definition);
  return validate(value) ? null : ajv.errorsText(validate.errors);
}

// Finds a definition by its method, the side that handles the method, and what it is.
function definitionOf(method, side, kind) {
  const fits = ([name, one]) =>
    one['x-method'] === method && [side, 'protocol'].includes(one['x-side']) && name.endsWith(kind);
  return Object.entries(schema.$defs).find(fits)?.[0];
}

const found = { messages: 0, client: {}, agent: {}, violations: [] };
const read = (file) => readFileSync(file, 'utf8').split('\n').filter((line) => line !== '');

function judge(from, to, line, asked, answers) {
  const violation = (why) => found.violations.push(`${from}: ${why}: ${line.slice(0, 600)}`);
  const count = (what) => { found[from][what] = (found[from][what] ?? 0) + 1; };
  found.messages += 1;
  let message;
  try { message = JSON.parse(line); } catch { return violation('this is not JSON'); }
  if (message.jsonrpc !== '2.0') violation('`jsonrpc` is not "2.0"');
  const unknown = Object.keys(message).filter((key) => !['jsonrpc', 'id', 'method', 'params', 'result', 'error'].includes(key));
  if (unknown.length > 0) violation(`JSON-RPC has no \`${unknown}\``);
  if (typeof message.method === 'string') {
    count(message.method);
    if ('id' in message) asked.set(JSON.stringify(message.id), message.method);
    // The protocol leaves such names to extensions.
    if (message.method.startsWith('_')) return;
    const kind = 'id' in message ? 'Request' : 'Notification';
    const definition = definitionOf(message.method, to, kind);
    if (!definition) return violation(`the protocol has no such ${kind.toLowerCase()}`);
    const errors = errorsOf(definition, message.params ?? {});
    if (errors) violation(errors);
  } else {
    answers.push({ from, message, line });
  }
}

for (let at = 0; at + 1 < files.length; at += 2) {
  const [clientAsked, agentAsked, answers] = [new Map(), new Map(), []];
  for (const line of read(files[at])) judge('client', 'agent', line, clientAsked, answers);
  for (const line of read(files[at + 1])) judge('agent', 'client', line, agentAsked, answers);
  for (const { from, message, line } of answers) {
    const violation = (why) => found.violations.push(`${from}: ${why}: ${line.slice(0, 600)}`);
    const method = (from === 'agent' ? clientAsked : agentAsked).get(JSON.stringify(message.id));
    if (!method) { violation('this answers no request'); continue; }
    if (('result' in message) === ('error' in message)) violation('an answer has a result or an error');
    const what = `${method} ${'error' in message ? 'error' : 'result'}`;
    found[from][what] = (found[from][what] ?? 0) + 1;
    if (method.startsWith('_')) continue;
    const errors = 'error' in message
      ? errorsOf('Error', message.error)
      : errorsOf(definitionOf(method, from, 'Response'), message.result);
    if (errors) violation(errors);
  }
}
console.log(JSON.stringify(found));
