import { escapeHtml } from '../plain-page.ts'
import { bodyOf, type Operation, type Parameter, successOf } from './document.ts'
import { type SampleRequest, samplesHtml } from './samples.ts'
import { aboutField, type SchemaHtml, wordsHtml } from './schema-html.ts'

/** One operation: what it does and takes on one side, samples and its answer on the other. */
export function operationHtml(
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
