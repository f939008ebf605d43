import { ERRORS, type ErrorCode, LIMITS, type OpenApiDocument } from '@svc/core/contract'
import { inTurns } from '@svc/core/operate'
import { escapeHtml } from '../plain-page.ts'
import {
  bodyOf,
  type Operation,
  operationsOf,
  type Parameter,
  recordsOf,
  successOf,
} from './document.ts'
import { LANGUAGES, type SampleRequest, samplesHtml } from './samples.ts'
import { aboutField, type SchemaHtml, schemaHtml, wordsHtml } from './schema-html.ts'

/** The groups that a newcomer needs first. The others follow in the order of the document. */
const FIRST = [
  'messages',
  'bulks',
  'received',
  'webhooks',
  'contacts',
  'suppressions',
  'domains',
  'api_keys',
  'billing',
]

/** A group of operations, as the document's tag describes it. */
interface Group {
  name: string
  description: string
  operations: Operation[]
}

/**
 * The API reference as one HTML page: sending first, samples, errors and records. It is complete without a script; the script
 * `docs/docs.js` adds the search, the choice of the language and the sending of requests. Other requests are served meanwhile.
 */
export async function referenceHtml(
  document: OpenApiDocument,
  { brand }: { brand: string },
): Promise<string> {
  const records = recordsOf(document)
  const schemas = schemaHtml(records)
  const base_url = String(document.servers[0]?.url ?? '')
  const groups = groupsOf(document)
  const articles = await inTurns(
    groups.flatMap((group) => group.operations),
    (operation) => [operation, operationHtml(operation, { schemas, base_url })] as const,
  )
  const articleOf = new Map(articles)
  const recordItems = await inTurns(
    Object.entries(records),
    ([name, schema]) =>
      `<details id="record-${escapeHtml(name)}" class="record"><summary><h3>${escapeHtml(name)}</h3></summary>${schemas.fields(schema)}</details>`,
  )
  const title = `${escapeHtml(brand)} API`
  return `<!doctype html>
<html lang="en" data-language="curl">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} reference</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/docs.css">
<script src="docs/docs.js" type="module"></script>
</head>
<body>
<a class="skip" href="#main">Skip to the reference</a>
<header class="top">
<a class="brand" href="#main">${title}</a>
${languagesHtml()}
<label class="key">API key <input id="key" autocomplete="off" spellcheck="false" placeholder="svc_…"></label>
</header>
<div class="layout">
<nav aria-label="Endpoints">
<details id="menu" open><summary>Endpoints</summary>
<label class="search">Search <input id="search" type="search" placeholder="send, webhook, …"></label>
<p id="none" hidden>No endpoint matches.</p>
${groups.map(navHtml).join('\n')}
<h2><a href="#errors">Errors</a></h2>
<h2><a href="#records">Records</a></h2>
</details>
</nav>
<main id="main" tabindex="-1">
${introHtml(title, base_url)}
${groups
  .map(
    ({ name, description, operations }) => `<section id="${name}" aria-labelledby="${name}-title">
<h2 id="${name}-title">${titleOf(name)}</h2>
<p>${wordsHtml(description)}</p>
${operations.map((operation) => articleOf.get(operation)).join('\n')}
</section>`,
  )
  .join('\n')}
${errorsHtml()}
<section id="records" aria-labelledby="records-title">
<h2 id="records-title">Records</h2>
${recordItems.join('\n')}
</section>
</main>
</div>
</body>
</html>
`
}

/** Returns the groups with their operations, the groups of `FIRST` first. */
function groupsOf(document: OpenApiDocument): Group[] {
  const operations = operationsOf(document)
  const rank = (name: string) => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length)
  return document.tags
    .map(({ name, description }) => ({
      name: String(name),
      description: String(description ?? ''),
      operations: operations.filter(({ tags }) => tags.includes(String(name))),
    }))
    .filter((group) => group.operations.length > 0)
    .sort((a, b) => rank(a.name) - rank(b.name))
}

function titleOf(group: string): string {
  const words = escapeHtml(group.replaceAll('_', ' ').replace('api', 'API'))
  return words.slice(0, 1).toUpperCase() + words.slice(1)
}

function languagesHtml(): string {
  const options = Object.entries(LANGUAGES).map(([name, title]) => {
    const checked = name === 'curl' ? ' checked' : ''
    return `<label><input type="radio" name="language" value="${name}"${checked}><span>${title}</span></label>`
  })
  return `<fieldset class="languages"><legend>Samples in</legend>${options.join('')}</fieldset>`
}

function navHtml({ name, operations }: Group): string {
  const items = operations.map(
    ({ method, path, operationId, summary }) =>
      `<li data-words="${escapeHtml(`${summary} ${method} ${path} ${operationId}`.toLowerCase())}"><a href="#${operationId}"><span class="method ${method.toLowerCase()}">${method}</span> ${escapeHtml(summary)}</a></li>`,
  )
  return `<div class="group"><h2><a href="#${name}">${titleOf(name)}</a></h2>\n<ul>${items.join('')}</ul></div>`
}

function introHtml(title: string, base_url: string): string {
  return `<h1>${title} reference</h1>
<p>The service answers at <code>${escapeHtml(base_url)}</code>. Requests and answers are JSON. For programs, the same reference is an OpenAPI document: <a href="openapi.json">openapi.json</a>.</p>
<ul>
<li><strong>Credential.</strong> Send an API key in the header <code>X-API-Key</code>, or the token of a login as <code>Authorization: Bearer …</code>. A key that begins with <code>svc_test_</code> sends nothing and costs nothing.</li>
<li><strong>Answers.</strong> A success is <code>{"success": true, "data": …}</code>, a failure <code>{"success": false, "error": …, "message": …}</code>. See <a href="#errors">Errors</a>.</li>
<li><strong>Repetitions.</strong> Send the header <code>Idempotency-Key</code> with what costs credits: for ${LIMITS.idempotency_lifetime_s / 3600} hours, a repeat with the same key and body gets the first answer and costs nothing.</li>
<li><strong>Limits.</strong> Each answer has <code>X-RateLimit-Remaining</code> and <code>X-RateLimit-Reset</code>; an answer 429 has <code>Retry-After</code>.</li>
</ul>`
}

function errorsHtml(): string {
  const errors = ERROR_CATALOGUE.map(
    ({ code, status, meaning, remedy }) =>
      `<tr><td><code>${code}</code></td><td>${status}</td><td>${wordsHtml(meaning)}</td><td>${wordsHtml(remedy)}</td></tr>`,
  )
  const failures = FAILURE_CATALOGUE.map(
    ({ code, meaning }) => `<tr><td><code>${code}</code></td><td>${wordsHtml(meaning)}</td></tr>`,
  )
  return `<section id="errors" aria-labelledby="errors-title">
<h2 id="errors-title">Errors</h2>
<p>Decide by <code>error</code>, which does not change; <code>message</code> is for people. A 502 or 504 comes from a proxy: repeat the request with the same <code>Idempotency-Key</code>.</p>
<div class="table" role="region" aria-label="Errors of requests" tabindex="0"><table>
<thead><tr><th scope="col">error</th><th scope="col">Status</th><th scope="col">Meaning</th><th scope="col">What to do</th></tr></thead>
<tbody>${errors.join('\n')}</tbody></table></div>
<h3>Messages that failed</h3>
<p>An accepted message can still fail. Its <code>error_code</code> is a stable word, its <code>error_message</code> a sentence. Frequent words:</p>
<div class="table" role="region" aria-label="Errors of messages" tabindex="0"><table>
<thead><tr><th scope="col">error_code</th><th scope="col">Meaning</th></tr></thead>
<tbody>${failures.join('\n')}</tbody></table></div>
</section>`
}

/** What an error means, and what the client does. */
interface Advice {
  meaning: string
  remedy: string
}

const ADVICE: Record<ErrorCode, Advice> = {
  validation_error: {
    meaning: 'The request is wrong. `details` lists each fault with its field.',
    remedy: 'Correct the request. The same request fails again.',
  },
  unauthorized: {
    meaning:
      'The API key or the token is missing, unknown, deactivated or ended; or a password is wrong.',
    remedy: 'Send a valid `X-API-Key`, or log in again.',
  },
  token_expired: {
    meaning: 'The session is too old.',
    remedy: 'Log in again.',
  },
  insufficient_credits: {
    meaning:
      'The workspace has less credits than the request costs, or a purchase could not begin.',
    remedy: 'Add credits, then send the request again.',
  },
  forbidden: {
    meaning:
      'The credential is valid, but lacks the scope or the role; or the workspace is frozen.',
    remedy: 'Use a key with the scope that the endpoint names, or ask an owner.',
  },
  not_found: {
    meaning: 'The path or the record does not exist in this workspace.',
    remedy: 'Check the id and the path.',
  },
  rate_limit_exceeded: {
    meaning: 'Too many requests, or the service is busy.',
    remedy: 'Wait for the seconds of `Retry-After`, then send the request again.',
  },
  internal_error: {
    meaning: 'A fault of the service.',
    remedy:
      'Send the request again, with the same `Idempotency-Key`. Tell the operator the `X-Request-Id`.',
  },
}

/** Each value of the field `error`, with its status and what to do. */
const ERROR_CATALOGUE = Object.entries(ADVICE).map(([code, advice]) => ({
  code,
  status: ERRORS[code as ErrorCode],
  ...advice,
}))

/** Frequent values of `error_code` of a message that failed. Providers add words of their own. */
const FAILURE_CATALOGUE: readonly { code: string; meaning: string }[] = [
  { code: 'invalid_recipient', meaning: 'The recipient is not an address of the channel.' },
  { code: 'invalid_content', meaning: 'The content cannot be sent on the channel.' },
  { code: 'sender_invalid', meaning: 'The provider may not send from this sender.' },
  {
    code: 'sender_not_verified',
    meaning: 'The domain of `from_address` is not verified any more.',
  },
  { code: 'undelivered', meaning: 'The provider took the message but did not deliver it.' },
  { code: 'bounced', meaning: 'The mailbox does not exist, is full or refuses the mail.' },
  {
    code: 'expired',
    meaning: 'The time of `expires_in` or of the carrier ended before the delivery.',
  },
  { code: 'canceled', meaning: 'A request canceled the message.' },
  { code: 'provider_unavailable', meaning: 'The provider did not take the message in time.' },
  {
    code: 'outcome_unknown',
    meaning:
      'The answer of the provider was lost. The message may have arrived, so that it is not refunded.',
  },
]

/** One operation: what it does and takes on one side, samples and its answer on the other. */
function operationHtml(
  operation: Operation,
  { schemas, base_url }: { schemas: SchemaHtml; base_url: string },
): string {
  const { method, path, operationId, summary, description, parameters = [] } = operation
  const body = bodyOf(operation)
  const { content } = successOf(operation)
  const asked = body ? `<h4>Request</h4>${schemas.fields(body.schema, { opens: true })}` : ''
  const given = content ? schemas.fields(content.schema) : ''
  return `<article id="${operationId}" aria-labelledby="${operationId}-title">
<div class="text">
<h3 id="${operationId}-title"><a href="#${operationId}">${escapeHtml(summary)}</a></h3>
<p class="path"><span class="method ${method.toLowerCase()}">${method}</span> <code>${escapeHtml(path)}</code></p>
${description === undefined ? '' : `<p>${wordsHtml(description)}</p>`}
<p class="quiet">${credentialText(operation)}</p>
${parametersHtml(parameters, schemas)}${asked}
${given === '' ? '' : `<details><summary>Fields of the answer</summary>${given}</details>`}
</div>
<div class="side">
${sampleHtml(operation, base_url)}
${answerHtml(operation)}
${tryHtml(operation)}
</div>
</article>`
}

function credentialText({ security }: Operation): string {
  const names = security.flatMap((scheme) => Object.keys(scheme))
  if (names.length === 0) return 'Needs no credential.'
  const words = names.map((name) => (name === 'jwt' ? 'the token of a login' : 'an API key'))
  return `Needs ${words.join(' or ')}.`
}

function authOf({ security }: Operation): SampleRequest['auth'] {
  const names = security.flatMap((scheme) => Object.keys(scheme))
  if (names.includes('api_key')) return 'api_key'
  return names.includes('jwt') ? 'jwt' : 'none'
}

function parametersHtml(parameters: readonly Parameter[], schemas: SchemaHtml): string {
  if (parameters.length === 0) return ''
  const rows = parameters.map(({ name, in: place, required, description, schema }) => {
    const must = required ? ' <b class="must">required</b>' : ''
    const about = aboutField({ ...schema, description: description ?? schema.description ?? '' })
    return `<div><dt><code>${escapeHtml(name)}</code> <span class="type">${place}, ${schemas.type(schema)}</span>${must}</dt><dd>${about}</dd></div>`
  })
  return `<h4>Parameters</h4><dl class="fields">${rows.join('')}</dl>`
}

/** Whether another program signs the request, so that no client sends it. */
function isSigned({ parameters = [], security }: Operation): boolean {
  return (
    security.length === 0 &&
    parameters.some(({ in: place, name }) => place === 'header' && /signature/i.test(name))
  )
}

function sampleHtml(operation: Operation, base_url: string): string {
  if (isSigned(operation)) return ''
  const { method, path, tags, operationId } = operation
  const [group = ''] = tags
  const named = (name: string) => (name === 'id' ? `<${group.replace(/s$/, '')}_id>` : `<${name}>`)
  const args = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => named(name))
  const request: SampleRequest = {
    method,
    url: base_url + path.replace(/\{(\w+)\}/g, (_, name: string) => named(name)),
    auth: authOf(operation),
    body: exampleOf(operation),
    call: { base_url, method: operationId.split('.').map(camelCase).join('.'), args },
  }
  return `<div class="sample"><button type="button" class="copy">Copy</button>${samplesHtml(request)}</div>`
}

function camelCase(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}

function exampleOf(operation: Operation): unknown {
  const body = bodyOf(operation)
  return body?.example ?? null
}

function answerHtml(operation: Operation): string {
  const { status, content } = successOf(operation)
  if (content?.example === undefined) return ''
  const text = escapeHtml(JSON.stringify(content.example, null, 2))
  return `<details class="answer" open><summary>Answer ${status}</summary><pre tabindex="0" aria-label="Answer"><code>${text}</code></pre></details>`
}

/** The form that sends the request from the page. It works with the script only, which shows it. */
function tryHtml(operation: Operation): string {
  if (isSigned(operation)) return ''
  const { method, path, parameters = [] } = operation
  const inputs = parameters
    .filter(({ in: place }) => place === 'path')
    .map(
      ({ name }) =>
        `<label>${escapeHtml(name)} <input name="${escapeHtml(name)}" data-in="path" required autocomplete="off" spellcheck="false"></label>`,
    )
  const query = parameters.some(({ in: place }) => place === 'query')
    ? '<label>Query <input data-in="query" placeholder="limit=10" autocomplete="off" spellcheck="false"></label>'
    : ''
  const example =
    bodyOf(operation) && escapeHtml(JSON.stringify(exampleOf(operation) ?? {}, null, 2))
  const body = example
    ? `<label>Body <textarea data-in="body" spellcheck="false" rows="${Math.min(example.split('\n').length, 16)}">${example}</textarea></label>`
    : ''
  return `<details class="try" hidden><summary>Send this request</summary>
<form data-method="${method}" data-path="${escapeHtml(path)}" data-auth="${authOf(operation)}">
${inputs.join('')}${query}${body}
<button>Send</button>
<output aria-live="polite"></output>
</form></details>`
}
