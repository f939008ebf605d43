import { escapeHtml } from '../plain-page.ts'

/** A request that the samples make. */
export interface SampleRequest {
  method: string
  /** The whole address, without a query. */
  url: string
  /** The credential: an API key, a session token, or none. */
  auth: 'api_key' | 'jwt' | 'none'
  /** Null for a request without a body. */
  body: unknown
  /** The call of the JavaScript client; null for an endpoint that the client does not have. */
  call: { base_url: string; method: string; args: readonly string[] } | null
}

/** A request in one language. In the code, `KEY` stands for the credential. */
interface Sample {
  language: LanguageName
  code: string
  /** The expression of the credential, which a known key replaces. */
  credential: string
  /** The quote around a known key. */
  quote: '' | "'" | '"'
}

/** The languages in the order of the page: name and title. */
export const LANGUAGES = {
  curl: 'curl',
  node: 'Node',
  python: 'Python',
  php: 'PHP',
  go: 'Go',
} as const

/** The name of a language of the samples. */
type LanguageName = keyof typeof LANGUAGES

/** It is in no text of the contract. */
const KEY = '\u0001'

/** The request in each language, as HTML. `data-quote` marks the credential, so that the page can put a known key there. */
export function samplesHtml(request: SampleRequest): string {
  const samples = [curl(request), node(request), python(request), php(request), go(request)]
  return samples
    .filter((sample) => sample !== null)
    .map(({ language, code, credential, quote }) => {
      const mark = `<span class="credential" data-quote="${escapeHtml(quote)}">${escapeHtml(credential)}</span>`
      const html = escapeHtml(code).replaceAll(
        KEY,
        request.auth === 'jwt' ? escapeHtml(credential) : mark,
      )
      return `<pre tabindex="0" data-language="${language}" aria-label="${LANGUAGES[language]}"><code>${html}</code></pre>`
    })
    .join('')
}

function variable({ auth }: SampleRequest): string {
  return auth === 'jwt' ? 'TOKEN' : 'SVC_API_KEY'
}

/** The header with the credential: its name and the text before the credential. */
function headerOf({ auth }: SampleRequest): { name: string; scheme: string } | null {
  if (auth === 'none') return null
  return auth === 'jwt'
    ? { name: 'Authorization', scheme: 'Bearer ' }
    : { name: 'X-API-Key', scheme: '' }
}

function curl(request: SampleRequest): Sample {
  const { method, url, body } = request
  const header = headerOf(request)
  const parts = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}'${url}'`,
    ...(header ? [`-H "${header.name}: ${header.scheme}${KEY}"`] : []),
    ...(body === null
      ? []
      : ["-H 'Content-Type: application/json'", `-d '${json(body).replaceAll("'", "'\\''")}'`]),
  ]
  return {
    language: 'curl',
    code: parts.join(' \\\n  '),
    credential: `$${variable(request)}`,
    quote: '',
  }
}

function node(request: SampleRequest): Sample | null {
  const { call, auth, body } = request
  if (call === null) return null
  const option = auth === 'none' ? '' : `, ${auth === 'jwt' ? 'token' : 'apiKey'}: ${KEY}`
  const args = [
    ...call.args.map((arg) => `'${arg}'`),
    ...(body === null ? [] : [literal(body, JS)]),
  ]
  const code = `import { Svc } from '@svc/client'

const svc = new Svc({ baseUrl: '${call.base_url}'${option} })
console.log(await svc.${call.method}(${args.join(', ')}))`
  return { language: 'node', code, credential: `process.env.${variable(request)}`, quote: "'" }
}

function python(request: SampleRequest): Sample {
  const { method, url, body } = request
  const header = headerOf(request)
  const value = header?.scheme ? `"${header.scheme}" + ${KEY}` : KEY
  const code = [
    ...(header ? ['import os'] : []),
    'import requests',
    '',
    'answer = requests.request(',
    `    "${method}",`,
    `    "${url}",`,
    ...(header ? [`    headers={"${header.name}": ${value}},`] : []),
    ...(body === null ? [] : [`    json=${literal(body, PYTHON, 1)},`]),
    '    timeout=30,',
    ')',
    'print(answer.status_code, answer.json())',
  ].join('\n')
  return { language: 'python', code, credential: `os.environ["${variable(request)}"]`, quote: '"' }
}

function php(request: SampleRequest): Sample {
  const { method, url, body } = request
  const header = headerOf(request)
  const headers = [
    ...(header ? [`'${header.name}: ${header.scheme}' . ${KEY}`] : []),
    ...(body === null ? [] : ["'Content-Type: application/json'"]),
  ]
  const code = [
    '<?php',
    `$request = curl_init('${url}');`,
    'curl_setopt_array($request, [',
    `    CURLOPT_CUSTOMREQUEST => '${method}',`,
    ...(headers.length > 0 ? [`    CURLOPT_HTTPHEADER => [${headers.join(', ')}],`] : []),
    ...(body === null ? [] : [`    CURLOPT_POSTFIELDS => json_encode(${literal(body, PHP, 1)}),`]),
    '    CURLOPT_RETURNTRANSFER => true,',
    ']);',
    'echo curl_exec($request);',
  ].join('\n')
  return { language: 'php', code, credential: `getenv('${variable(request)}')`, quote: "'" }
}

function go(request: SampleRequest): Sample {
  const { method, url, body } = request
  const header = headerOf(request)
  const value = header?.scheme ? `"${header.scheme}"+${KEY}` : KEY
  const imports = ['fmt', 'io', 'net/http', 'os', ...(body === null ? [] : ['strings'])]
  const code = [
    'package main',
    '',
    'import (',
    ...imports.map((name) => `\t"${name}"`),
    ')',
    '',
    'func main() {',
    ...(body === null
      ? []
      : [`\tbody := strings.NewReader(\`${json(body).replaceAll('`', '`+"`"+`')}\`)`]),
    `\trequest, _ := http.NewRequest("${method}", "${url}", ${body === null ? 'nil' : 'body'})`,
    ...(header ? [`\trequest.Header.Set("${header.name}", ${value})`] : []),
    ...(body === null ? [] : ['\trequest.Header.Set("Content-Type", "application/json")']),
    '\tanswer, err := http.DefaultClient.Do(request)',
    '\tif err != nil {',
    '\t\tpanic(err)',
    '\t}',
    '\tdefer answer.Body.Close()',
    // The sample uses os without the variable of the key too: Go refuses an import that is not used.
    '\tfmt.Fprintln(os.Stderr, answer.Status)',
    '\tio.Copy(os.Stdout, answer.Body)',
    '}',
  ].join('\n')
  return { language: 'go', code, credential: `os.Getenv("${variable(request)}")`, quote: '"' }
}

function json(value: unknown): string {
  return JSON.stringify(value, null, 2)
}

/** How a language writes the values of JSON. */
interface Notation {
  indent: string
  object: readonly [open: string, close: string]
  array: readonly [open: string, close: string]
  field(name: string): string
  text(value: string): string
  words: Readonly<Record<'true' | 'false' | 'null', string>>
}

const single = (text: string) => `'${text.replace(/[\\']/g, '\\$&').replaceAll('\n', '\\n')}'`

const JS: Notation = {
  indent: '  ',
  object: ['{', '}'],
  array: ['[', ']'],
  field: (name) => `${/^[A-Za-z_]\w*$/.test(name) ? name : single(name)}: `,
  text: single,
  words: { true: 'true', false: 'false', null: 'null' },
}

const PYTHON: Notation = {
  indent: '    ',
  object: ['{', '}'],
  array: ['[', ']'],
  field: (name) => `${JSON.stringify(name)}: `,
  text: (value) => JSON.stringify(value),
  words: { true: 'True', false: 'False', null: 'None' },
}

const PHP: Notation = {
  indent: '    ',
  object: ['[', ']'],
  array: ['[', ']'],
  field: (name) => `${phpText(name)} => `,
  text: phpText,
  words: { true: 'true', false: 'false', null: 'null' },
}

/** In single quotes PHP knows no escape for the end of a line, so that such texts stand in double quotes. */
function phpText(text: string): string {
  return text.includes('\n') ? JSON.stringify(text).replaceAll('$', '\\$') : single(text)
}

/** A value of JSON in the notation of a language. `depth`: the depth of the line that it begins in. */
function literal(value: unknown, notation: Notation, depth = 0): string {
  if (typeof value === 'string') return notation.text(value)
  if (typeof value === 'number') return String(value)
  if (typeof value !== 'object' || value === null) {
    return notation.words[String(value) as 'true' | 'false' | 'null']
  }
  const items = Array.isArray(value)
    ? value.map((item) => literal(item, notation, depth + 1))
    : Object.entries(value).map(
        ([name, item]) => `${notation.field(name)}${literal(item, notation, depth + 1)}`,
      )
  const [open, close] = Array.isArray(value) ? notation.array : notation.object
  if (items.length === 0) return `${open}${close}`
  const inner = notation.indent.repeat(depth + 1)
  return `${open}\n${items.map((item) => `${inner}${item},\n`).join('')}${notation.indent.repeat(depth)}${close}`
}
