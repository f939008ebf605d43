import type { Mail, MailKind } from '@svc/core'
import { formatCredits, sidOf } from '@svc/core/contract'
import { counted, printable, type Style, type StyleName } from '../show/text.ts'
import type { Demo } from './demo.ts'

/** The facts that `svc dev` shows when it is ready. */
export interface Welcome {
  /** The address of the server, reachable from this machine. */
  url: string
  demo: Demo
  /** The addresses at which the server takes mails by SMTP; empty for none. */
  smtp_urls: readonly string[]
  /** The default port if it is in use and the server has chosen another port; else null. */
  taken_port: number | null
  /** The place of the data: the path of the data folder, or `the PostgreSQL database`. */
  data_place: string
  /** The text that calls `svc` in a shell. */
  svc: string
  /** The real providers and their channels; empty when the sandbox serves all channels. */
  providers: readonly { name: string; channels: readonly string[] }[]
}

const EXAMPLE = '{"channel":"sms","to":"+15005550006","content":{"text":"Hello from svc"}}'

/** The shell command that sends the first SMS, ready to paste. */
function sendCurl(url: string, key: string): string {
  return [
    `curl -s ${url}/api/v1/messages/send \\`,
    `  -H 'X-API-Key: ${key}' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '${EXAMPLE}'`,
  ].join('\n')
}

/** The shell command that shows the newest message, ready to paste. */
function statusCurl(url: string, key: string): string {
  return `curl -s '${url}/api/v1/messages?limit=1' -H 'X-API-Key: ${key}'`
}

/** The shell command that sets the variables that the docs use, ready to paste. */
function exportLine(url: string, key: string): string {
  return `export SVC_URL=${url} SVC_API_KEY=${key}`
}

/** The line that says which messages leave this machine. */
function carriersLine(providers: Welcome['providers']): string {
  if (providers.length === 0) {
    return '  Sandbox    no message leaves this machine, also with live keys; +15005550007 always fails'
  }
  const carried = providers.map(({ name, channels }) => `${channels.join(', ')} by ${name}`)
  return `  Sending    for real: ${carried.join('; ')}; all other messages stay in the sandbox`
}

/** The line that changes in a program for Twilio, for Resend, and for an SMTP server, ready to paste. */
function changedLines({
  url,
  demo,
  smtp_urls,
}: Pick<Welcome, 'url' | 'demo' | 'smtp_urls'>): string[] {
  const { api_key, workspace } = demo
  const account = sidOf('account', workspace.id)
  const [smtp] = smtp_urls
  return [
    `client = twilio('${account}', '${api_key}'); client.api.baseUrl = '${url}/compat/twilio'`,
    `new Resend('${api_key}', { baseUrl: '${url}/compat/resend' })`,
    ...(smtp ? [smtp.replace('://', `://svc:${api_key}@`)] : []),
  ]
}

/** The text that `svc dev` prints when it is ready. */
export function welcomeText(
  { url, demo, smtp_urls, taken_port, data_place, svc, providers }: Welcome,
  style: Style,
): string {
  const { api_key, workspace, password } = demo
  const moved = taken_port === null ? '' : `  (port ${taken_port} is in use)`
  const login = password === null ? '' : `, password ${password}`
  const credits = counted(formatCredits(workspace.credits_balance), 'credit')
  const step = (text: string) => style('bold', text)
  return [
    '',
    `${style('green', '●')} ${step(`svc is running at ${url}`)}${moved}`,
    '',
    `  API key    ${api_key}`,
    `  Workspace  ${workspace.email}${login}, ${credits}`,
    `  Console    ${url}/console  (messages, mails, a phone for replies)`,
    `  Reference  ${url}/docs`,
    carriersLine(providers),
    '',
    step('Send the first SMS:'),
    '',
    sendCurl(url, api_key),
    '',
    step('Show its status:'),
    '',
    statusCurl(url, api_key),
    `${svc} messages list`,
    '',
    step(
      'Receive its webhook events, verified and printed (in a second terminal, in this folder):',
    ),
    '',
    `${svc} webhooks listen`,
    '',
    step('Set the address and the key in another shell, for programs and the docs:'),
    '',
    exportLine(url, api_key),
    '',
    step('Or change one line of a program for Twilio, Resend or SMTP:'),
    '',
    ...changedLines({ url, demo, smtp_urls }),
    '',
    style('dim', `The data is in ${data_place}. Stop with Ctrl-C.`),
  ].join('\n')
}

const SUBJECTS: Record<MailKind, string> = {
  verify_email: 'verify your address',
  reset_password: 'reset your password',
  invitation: 'see the invitation',
  low_balance: 'your credits are running low',
  account_frozen: 'your workspace was frozen',
  webhook_failure: 'a webhook fails',
}

/** One line about a mail in the sandbox, with the link of the mail if there is one. */
export function mailLine({ to, kind, link }: Mail): string {
  return [`mail to ${to}: ${SUBJECTS[kind]}`, link].filter(Boolean).join(' ')
}

/** An answered request. */
export interface AnsweredRequest {
  method: string
  /** The path and the query. */
  url: string
  /** The pattern of the route, such as `/api/v1/messages/:id`; undefined for an unknown path. */
  route: string | undefined
  status: number
  duration_ms: number
}

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i
const PATH_MAX = 120

/** One line about a request; null for the files and polls of the pages of `svc dev`. */
export function requestLine(request: AnsweredRequest, at: Date, style: Style): string | null {
  const { method, status, duration_ms } = request
  const path = pathOf(request)
  if (status < 400 && /^\/(?:dev|console\/assets)\//.test(path)) return null
  const colour: StyleName = status >= 500 ? 'red' : status >= 400 ? 'yellow' : 'green'
  const time = style('dim', at.toTimeString().slice(0, 8))
  const took = style('dim', `${Math.round(duration_ms)} ms`)
  return `${time} ${method} ${printable(path)} ${style(colour, String(status))} ${took}`
}

/** The path without its query, which may have a token; a parameter of the path that is no id is not shown either. */
function pathOf({ url, route }: AnsweredRequest): string {
  const parts = (url.split('?', 1)[0] ?? '').split('/')
  const names = route?.split('/') ?? []
  const shown = parts.map((part, i) => {
    const name = names[i] ?? ''
    return name.startsWith(':') && !UUID.test(part) ? name : part
  })
  return shown.join('/').slice(0, PATH_MAX)
}
