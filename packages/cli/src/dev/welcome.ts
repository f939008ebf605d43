import type { Mail, MailKind } from '@svc/core'
import { formatCredits } from '@svc/core/contract'
import type { Style } from '../show/style.ts'
import type { Demo } from './demo.ts'

/** What a developer needs to know once `svc dev` is up. */
export interface Welcome {
  /** An address that works on this machine. */
  url: string
  demo: Demo
  /** The port that was wanted and taken, if another one is used. */
  taken_port: number | null
  /** Where the data is: the folder as one would type it, or the name of another place. */
  kept_in: string
  /** How to call the `svc` command. */
  svc: string
  /** Who carries messages for real, and on which channels; none where all is the sandbox's. */
  providers: readonly { name: string; channels: readonly string[] }[]
}

const EXAMPLE = '{"channel":"sms","to":"+15005550006","content":{"text":"Hello from svc"}}'

/** The shell command that sends the first SMS; it works as pasted. */
export function sendCurl(url: string, key: string): string {
  return [
    `curl -s ${url}/api/v1/messages/send \\`,
    `  -H 'X-API-Key: ${key}' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '${EXAMPLE}'`,
  ].join('\n')
}

/** The shell command that shows the newest message; it works as pasted. */
export function statusCurl(url: string, key: string): string {
  return `curl -s '${url}/api/v1/messages?limit=1' -H 'X-API-Key: ${key}'`
}

/** Says what leaves this machine. */
function carriersLine(providers: Welcome['providers']): string {
  if (providers.length === 0) {
    return '  Sandbox    no message leaves this machine; +15005550007 fails on purpose'
  }
  const carried = providers.map(({ name, channels }) => `${channels.join(', ')} by ${name}`)
  return `  Sending    for real: ${carried.join('; ')}; all else stays in the sandbox`
}

/** The text that `svc dev` greets with. */
export function welcomeText(
  { url, demo, taken_port, kept_in, svc, providers }: Welcome,
  style: Style,
): string {
  const { api_key, workspace, password } = demo
  const moved = taken_port === null ? '' : `  (port ${taken_port} is taken)`
  const login = password === null ? '' : `, password ${password}`
  const credits = `${formatCredits(workspace.credits_balance)} credits`
  const step = (text: string) => style('bold', text)
  return [
    '',
    `${style('green', '●')} ${step(`svc is running at ${url}`)}${moved}`,
    '',
    `  API key    ${api_key}`,
    `  Workspace  ${workspace.email}${login}, ${credits}`,
    `  Inbox      ${url}/dev  (all that is sent, as it arrives)`,
    `  Reference  ${url}/docs`,
    carriersLine(providers),
    '',
    step('Send the first SMS:'),
    '',
    sendCurl(url, api_key),
    '',
    step('See what became of it:'),
    '',
    statusCurl(url, api_key),
    `${svc} messages list`,
    '',
    step('Get its events on a webhook, verified and printed (in a second terminal):'),
    '',
    `${svc} webhooks listen`,
    '',
    style('dim', `Everything is kept in ${kept_in}. Stop with Ctrl-C.`),
  ].join('\n')
}

const ASKS: Record<MailKind, string> = {
  verify_email: 'verify your address',
  reset_password: 'reset your password',
  low_balance: 'your credits are running low',
  account_frozen: 'your workspace was frozen',
}

/** One line about a mail that the sandbox kept, with the link that its reader would open, where there is one. */
export function mailLine({ to, kind, link }: Mail): string {
  return [`mail to ${to}: ${ASKS[kind]}`, link].filter(Boolean).join(' ')
}
