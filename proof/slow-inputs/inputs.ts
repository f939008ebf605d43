import { apiFor, type Endpoint, LIMITS } from '../../packages/core/src/contract/index.ts'

/** One request that could delay the event loop. */
export interface Input {
  /** Its unusual part. */
  name: string
  method: string
  path: string
  /** The credential of the endpoint. */
  auth: Endpoint['auth']
  headers?: Record<string, string>
  body?: string
  /** Whether its body is unusual JSON of the maximum length, for any endpoint. */
  is_syntax?: true
}

const KB = 1024
const MB = 1024 * KB

/** Valid bodies of endpoints, by path. Each input replaces one text in them. */
const ACCEPTED: Record<string, Record<string, unknown>> = {
  '/api/v1/auth/signup': {
    email: 'a@example.com',
    password: 'long enough',
    company_name: 'A',
    phone: '+14155552671',
    country: 'TZ',
  },
  '/api/v1/auth/login': { email: 'a@example.com', password: 'long enough' },
  '/api/v1/auth/verify-email': { token: 'a' },
  '/api/v1/auth/resend-verification': { email: 'a@example.com' },
  '/api/v1/auth/forgot-password': { email: 'a@example.com' },
  '/api/v1/auth/reset-password': { token: 'a', password: 'long enough' },
  '/api/v1/auth/change-password': { current_password: 'a', new_password: 'long enough' },
  '/api/v1/account': { name: 'A', phone: '+14155552671', sender_name: 'A' },
  '/api/v1/api-keys': { name: 'A', allowed_ips: ['10.0.0.0/8'], expires_at: '2099-01-01' },
  '/api/v1/webhooks': { url: 'https://a.example/', description: 'A', headers: { 'x-a': 'b' } },
  '/api/v1/contacts': { name: 'A', phone: '+14155552671', email: 'a@example.com', tags: ['a'] },
  '/api/v1/contacts/suppressions': { channel: 'email', address: 'a@example.com' },
  '/api/v1/billing/checkout': { package_id: 'a', success_url: 'https://a.example/' },
  '/api/v1/messages/send': {
    channel: 'email',
    to: 'a@example.com',
    content: { subject: 'A', html: '<p>A</p>', text: 'A' },
    metadata: { a: 'b' },
  },
}

const endpoints: Endpoint[] = Object.values(apiFor({ voice: false })).flatMap((group) =>
  Object.values(group as Record<string, Endpoint>),
)

/** Texts that are slow for regular expressions and normalisations, about `length` long. */
export function slowTexts(length: number): [name: string, text: string][] {
  const of = (unit: string) => unit.repeat(Math.ceil(length / unit.length)).slice(0, length)
  return [
    ['spaces', `${of(' ')}x`],
    ['tabs and line ends', `${of('\t\r\n')}x`],
    ['commas and spaces', of(' , ')],
    ['digits', of('9')],
    ['slashes', `${of('/')}x`],
    ['dots', of('a.')],
    ['at signs', of('a@')],
    ['hyphens', `${of('a-')}!`],
    ['open braces', of('{{')],
    ['placeholders', of('{{a}}')],
    ['quotes', of('"')],
    ['backslashes', of('\\')],
    ['angle brackets', of('<')],
    ['equals signs', `${of('=')}x`],
    ['plus signs', of('+')],
    ['combining marks', of('e\u0301\u0323\u0302')],
    ['ligatures that expand', of('\ufdfa')],
    ['full-width forms', of('\uff21\uff0e')],
    ['emoji', of('\ud83d\ude00')],
    ['joined emoji', of('\ud83d\udc68\u200d\ud83d\udc69\u200d')],
    ['fractions', of('1\u00bd')],
    ['Cyrillic', of('\u0436')],
    ['punycode', of('xn--a.')],
    ['colons', of('::')],
  ]
}

/** All inputs whose method and path contain `route`; `quick`: one of each kind. */
export function inputs({ quick, route }: { quick: boolean; route: string }): Input[] {
  const hasRoute = ({ method, path }: Pick<Input, 'method' | 'path'>) =>
    `${method} ${path}`.includes(route)
  return endpoints
    .filter((endpoint) => hasRoute(base(endpoint)))
    .flatMap((endpoint) => [
      ...headerInputs(endpoint, quick),
      ...pathInputs(endpoint, quick),
      ...(endpoint.body ? bodyInputs(endpoint, quick) : []),
    ])
    .concat([...largeInputs(), ...pageInputs(quick)].filter(hasRoute))
}

function base({ method, path, auth }: Endpoint): Pick<Input, 'method' | 'path' | 'auth'> {
  return { method, path: path.replace(/:\w+/g, '0190a0a0-0000-7000-8000-000000000000'), auth }
}

/** Below Node's own limit for all headers of a request, 16 KB. */
const HEADER_LENGTH = 14 * KB
const HEADERS = [
  'if-none-match',
  'accept-encoding',
  'content-type',
  'authorization',
  'x-api-key',
  'idempotency-key',
  'x-forwarded-for',
  'cookie',
  'stripe-signature',
]

function headerInputs(endpoint: Endpoint, quick: boolean): Input[] {
  const texts = quick ? slowTexts(HEADER_LENGTH).slice(0, 1) : slowTexts(HEADER_LENGTH)
  return (quick ? HEADERS.slice(0, 3) : HEADERS).flatMap((header) =>
    texts
      .filter(([, text]) => /^[\x20-\x7e\t]*$/.test(text))
      .map(([name, text]) => ({
        ...base(endpoint),
        name: `${header}: ${name}`,
        headers: {
          [header]: `a${text}`,
          ...(header === 'authorization' && { [header]: `Bearer ${text}` }),
        },
      })),
  )
}

function pathInputs(endpoint: Endpoint, quick: boolean): Input[] {
  const { path, ...rest } = base(endpoint)
  const texts = quick ? slowTexts(8 * KB).slice(0, 2) : slowTexts(8 * KB)
  const names = endpoint.query ? Object.keys(endpoint.query.shape) : ['a']
  const queries = texts.flatMap(([name, text]) =>
    (quick ? names.slice(0, 1) : names).map((key): Input => {
      const value = encodeURIComponent(text.toWellFormed()).slice(0, 8 * KB)
      return { ...rest, path: `${path}?${key}=${value}`, name: `query ${key}: ${name}` }
    }),
  )
  return [
    ...queries,
    { ...rest, path: `${path}?${'a=1&'.repeat(3_000)}`, name: 'query of 3,000 parameters' },
    { ...rest, path: `${path}?${'%'.repeat(8 * KB)}`, name: 'query of percent signs' },
    { ...rest, path: `${path}?a${'[a]'.repeat(3_000)}=1`, name: 'query of brackets' },
  ]
}

/** A body of the same length without unusual parts. */
export const LETTERS = 'letters'

function bodyInputs(endpoint: Endpoint, quick: boolean): Input[] {
  const limit = endpoint.body_limit ?? LIMITS.body_bytes
  const of = (name: string, body: string): Input => ({
    ...base(endpoint),
    name,
    body,
    is_syntax: true,
  })
  const many = (count: number, text: (i: number) => string) =>
    Array.from({ length: count }, (_, i) => text(i)).join(',')
  const fill = (unit: string) => unit.repeat(Math.floor((limit - 20) / unit.length))
  const syntax = [
    of(LETTERS, `{"a":"${fill('a')}"}`),
    of('spaces', fill(' ')),
    of('brackets', fill('[')),
    of('digits', `{"a":${fill('9')}}`),
    of('digits in groups', `{"a":[${fill('99999999,')}9]}`),
    of('exponents', `[${fill('1e9,')}1]`),
    of('escapes', `{"a":"${fill('\\u0041')}"}`),
    of('escaped quotes', `{"a":"${fill('\\"')}"}`),
    of('members', `{${many(Math.floor(limit / 14), (i) => `"k${i}":1`)}}`),
    of(
      'members in a list',
      `{"recipients":[${many(Math.floor(limit / 30), (i) => `{"k${i}":1,"j${i}":2}`)}]}`,
    ),
    of('empty objects', `{"recipients":[${fill('{},')}{}]}`),
    of('empty lists', `{"a":[${fill('[],')}[]]}`),
    of('numbers', `{"a":[${fill('0,')}0]}`),
    of('unfinished', `{"a":"${fill('a')}`),
  ]
  const accepted = ACCEPTED[endpoint.path]
  const length = Math.min(limit - 2 * KB, 1 * MB)
  const texts = accepted
    ? leavesOf(accepted).flatMap((path) =>
        slowTexts(quick ? 20 * KB : length).map(([name, text]) => ({
          ...base(endpoint),
          name: `${path.join('.')}: ${name}`,
          body: JSON.stringify(replaced(accepted, path, text)),
        })),
      )
    : []
  return quick ? [...syntax, ...texts.filter((_, i) => i % 7 === 0)] : [...syntax, ...texts]
}

function leavesOf(value: unknown, path: string[] = []): string[][] {
  if (typeof value === 'string') return [path]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => leavesOf(inner, [...path, key]))
}

function replaced(value: unknown, [key, ...rest]: string[], text: string): unknown {
  if (key === undefined) return text
  if (Array.isArray(value))
    return value.map((inner, i) => (String(i) === key ? replaced(inner, rest, text) : inner))
  const record = value as Record<string, unknown>
  return { ...record, [key]: replaced(record[key], rest, text) }
}

/** The most expensive inputs within the limits. */
function largeInputs(): Input[] {
  const phone = (i: number) => `+2557${String(10_000_000 + i)}`
  const key = { method: 'POST', auth: 'api_key' } as const
  const owner = { method: 'POST', auth: 'jwt' } as const
  const bulkTo = (
    count: number,
    content: object,
    recipient: (i: number) => unknown,
    more: object = {},
  ) =>
    JSON.stringify({
      channel: 'sms',
      content,
      recipients: Array.from({ length: count }, (_, i) => recipient(i)),
      ...more,
    })
  const bulk = (content: object, recipient: (i: number) => unknown, more: object = {}) =>
    bulkTo(1_000, content, recipient, more)
  const variables = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`v${i}`, `value ${i}`]))
  const bodies: [string, string][] = [
    ['1,000 recipients', bulk({ text: 'Hello' }, phone)],
    ['1,000 texts of 1,600 Cyrillic letters', bulk({ text: '\u0436'.repeat(1_600) }, phone)],
    ['1,000 texts of fractions', bulk({ text: '1\u00bd'.repeat(800) }, phone)],
    [
      '200 placeholders and 1,000 recipients',
      bulk({ text: '{{v1|}}'.repeat(200) }, (i) => ({ to: phone(i), variables: { v1: 'a' } })),
    ],
    [
      '1,000 placeholders and 1,000 recipients',
      bulk({ text: '{{v}}'.repeat(1_000) }, (i) => ({ to: phone(i), variables: { v: 'a' } })),
    ],
    [
      '100 variables for each of 1,000 recipients',
      bulk({ text: 'Hi {{v1}}' }, (i) => ({ to: phone(i), variables: variables(100) })),
    ],
    ['1,000 invalid recipients', bulk({ text: 'Hi' }, (i) => ({ to: `x${i}`, variables: 7 }))],
    [
      '9,000 variables for each of 20 recipients',
      JSON.stringify({
        channel: 'sms',
        content: { text: 'Hi {{v1}}' },
        recipients: Array.from({ length: 20 }, (_, i) => ({
          to: phone(i),
          variables: variables(9_000),
        })),
      }),
    ],
    [
      '200 long values to escape for each of 1,000 recipients',
      JSON.stringify({
        channel: 'email',
        content: { subject: 'A', html: '{{v}}'.repeat(200) },
        defaults: { v: '<'.repeat(10_000) },
        recipients: Array.from({ length: 1_000 }, (_, i) => `r${i}@example.com`),
      }),
    ],
    [
      '1,000 missing variables',
      bulk({ text: '{{a}}{{b}}{{c}}' }, phone, { validation: 'permissive' }),
    ],
    ['10,000 recipients', bulkTo(10_000, { text: 'Hello' }, phone)],
    [
      'a name for each of 10,000 recipients',
      bulkTo(10_000, { text: 'Hi {{name}}' }, (i) => ({ to: phone(i), name: `N ${i}` })),
    ],
    [
      '1,000 e-mails of 60 KB',
      JSON.stringify({
        channel: 'email',
        content: { subject: 'A {{name|}}', html: `<p>${'a'.repeat(60_000)}{{name|}}</p>` },
        recipients: Array.from({ length: 1_000 }, (_, i) => `r${i}@example.com`),
      }),
    ],
    [
      '1,000 e-mails of 60 KB, each different',
      JSON.stringify({
        channel: 'email',
        content: { subject: 'A {{name}}', html: `<p>${'a'.repeat(60_000)}{{name}}</p>` },
        recipients: Array.from({ length: 1_000 }, (_, i) => ({
          to: `r${i}@example.com`,
          name: `N ${i}`,
        })),
      }),
    ],
    [
      '1,000 e-mails of 2 KB',
      JSON.stringify({
        channel: 'email',
        content: { subject: 'A {{name|}}', html: `<p>${'a'.repeat(2_000)}{{name|}}</p>` },
        recipients: Array.from({ length: 1_000 }, (_, i) => `r${i}@example.com`),
      }),
    ],
  ]
  const rows = Array.from({ length: 10_000 }, (_, i) => ({
    name: `N ${i}`,
    phone: phone(i),
    tags: ['a'],
  }))
  const csv = ['name,phone,tags', ...rows.map(({ name, phone: number }) => `${name},${number},a`)]
  const members = (count: number) => JSON.stringify(variables(count))
  const cell = (text: string) => `"${text.replaceAll('"', '""')}"`
  const cells: [string, string][] = [
    ['members in a cell', `phone,attributes\n${phone(0)},${cell(members(130_000))}`],
    ['tags in a cell', `phone,tags\n${phone(0)},${cell('a,'.repeat(1.9 * MB))}`],
    ['separators in a cell', `phone,tags\n${phone(0)},${';'.repeat(3.9 * MB)}`],
    ['channels in a cell', `phone,unsubscribed\n${phone(0)},${cell('a;'.repeat(1.9 * MB))}`],
  ]
  const full = (field: object) =>
    JSON.stringify({
      contacts: Array.from({ length: 20 }, (_, i) => ({ phone: phone(i), ...field })),
    })
  const importing = { ...owner, path: '/api/v1/contacts/import' }
  const email = (content: object) => ({
    ...key,
    path: '/api/v1/messages/send',
    body: JSON.stringify({ to: 'a@example.com', channel: 'email', content }),
  })
  return [
    ...bodies.flatMap(([name, body]): Input[] => [
      { ...key, path: '/api/v1/messages/estimate', name, body },
      { ...key, path: '/api/v1/messages/bulk', name, body },
    ]),
    { ...importing, name: '10,000 contacts', body: JSON.stringify({ contacts: rows }) },
    {
      ...importing,
      name: '10,000 contacts as CSV',
      headers: { 'content-type': 'text/csv' },
      body: csv.join('\n'),
    },
    { ...importing, name: '9,000 attributes each', body: full({ attributes: variables(9_000) }) },
    { ...importing, name: '9,000 tags each', body: full({ tags: Array(9_000).fill('a') }) },
    ...cells.map(([name, body]) => ({
      ...importing,
      name: `CSV: ${name}`,
      headers: { 'content-type': 'text/csv' },
      body,
    })),
    {
      ...importing,
      name: 'CSV of quotes',
      headers: { 'content-type': 'text/csv' },
      body: `name,phone\n${'"'.repeat(1 * MB)}`,
    },
    {
      ...importing,
      name: 'CSV of commas',
      headers: { 'content-type': 'text/csv' },
      body: `name,phone\n${','.repeat(1 * MB)}`,
    },
    ...templateInputs(),
    { ...email({ subject: 'A', html: 'a'.repeat(2 * MB) }), name: 'an e-mail of 2 MB' },
    {
      ...email({
        subject: 'A',
        text: 'A',
        attachments: [{ filename: 'a.bin', content: Buffer.alloc(2 * MB - 2).toString('base64') }],
      }),
      name: 'an attachment of 2 MB',
    },
  ]
}

/** Templates with as much work as the limits allow, and more. They are not stored. */
function templateInputs(): Input[] {
  const { template_html_length: html_max, template_list_items: items } = LIMITS
  const list = Array.from({ length: items }, (_, i) => i)
  const long = Array.from({ length: items }, () => '<'.repeat(500))
  const fill = (unit: string, length: number) => unit.repeat(Math.floor(length / unit.length))
  const nested = '{{#each l}}{{#each l}}{{/each}}{{/each}}'
  const rules = Array.from({ length: 2_000 }, (_, i) => `.c${i} p{color:#${100 + (i % 900)}}`)
  const texts: [string, string, object][] = [
    ['1,000 placeholders', fill('{{v|}}', 6_000), {}],
    ['blocks that are not closed', fill('{{#if v}}', 6_000), {}],
    ['braces', fill('{{', 6_000), {}],
    ['lists in one another', nested, { l: list }],
    ['a list of long values', '{{#each l}}{{this}}{{/each}}', { l: long }],
    ['names of prototypes', fill('{{__proto__.constructor|}}', 6_000), {}],
  ]
  const mails: [string, string, object][] = [
    ['HTML of tags', fill('<b>', html_max), {}],
    ['HTML of a table', `<table>${fill('<tr><td>a</td></tr>', html_max - 100)}</table>`, {}],
    ['HTML of angle brackets', fill('<', html_max), {}],
    [
      'many CSS rules',
      `<style>${rules.join('')}</style>${fill('<p class="c1">a</p>', 60_000)}`,
      {},
    ],
    ['long values to escape', '{{#each l}}{{this}}{{/each}}', { l: long }],
  ]
  const { preview, push } = apiFor({ voice: false }).templates
  const given = [
    ...texts.map(([name, text, variables]) => ({
      ...{ name, variables, channel: 'sms', content: { text }, locales: ['en'] },
    })),
    ...mails.map(([name, html, variables]) => ({
      ...{ name, variables, channel: 'email', locales: ['en'] },
      content: { subject: 'A', html, inline_css: true },
    })),
    {
      ...{ name: '100 e-mails of one template', variables: {}, channel: 'email' },
      content: { subject: 'A', html: fill('<p>{{v|}}</p>', 9_000), layout: 'default' },
      locales: Array.from({ length: LIMITS.template_variants }, (_, i) => `en-x-${i}`),
    },
  ]
  return given.flatMap(({ name, channel, content, locales, variables }): Input[] => {
    const variants = locales.map((locale) => ({ channel, locale, content }))
    return [
      {
        ...{ name, method: preview.method, path: preview.path, auth: preview.auth },
        body: JSON.stringify({ channel, variables, template: { variants } }),
      },
      {
        ...{ name, method: push.method, path: push.path, auth: push.auth },
        body: JSON.stringify({ templates: [{ name: 'a', variants }], dry_run: true }),
      },
    ]
  })
}

/** Paths outside the API. */
function pageInputs(quick: boolean): Input[] {
  const pages = ['/docs', '/openapi.json', '/unsubscribe/a', '/account/verify-email?token=a']
  const page = {
    method: 'GET',
    path: '/docs',
    auth: 'none',
    rate: 'anonymous',
  } as unknown as Endpoint
  const bodies = slowTexts(8 * KB - 10).flatMap(([name, text]): Input[] => [
    { name, method: 'POST', path: '/unsubscribe/a', auth: 'none', body: text },
    {
      name: `a part of ${name}`,
      method: 'POST',
      path: '/unsubscribe/a',
      auth: 'none',
      body: `name="List-Unsubscribe"${text}`,
    },
  ])
  return [
    ...pages.flatMap((path) => headerInputs({ ...page, path: path as '/docs' }, quick)),
    ...(quick ? bodies.slice(0, 6) : bodies),
    {
      name: '4 MB',
      method: 'POST',
      path: '/callbacks/unknown',
      auth: 'none',
      body: 'a'.repeat(4 * MB),
    },
  ]
}
