import { LIMITS, type OpenApiDocument } from '@svc/core/contract'
import { inTurns } from '@svc/core/operate'
import { escapeHtml } from '../plain-page.ts'
import { type Operation, operationsOf, recordsOf } from './document.ts'
import { ERROR_CATALOGUE, FAILURE_CATALOGUE } from './error-catalogue.ts'
import { operationHtml } from './operation-html.ts'
import { LANGUAGES } from './samples.ts'
import { schemaHtml, wordsHtml } from './schema-html.ts'

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
