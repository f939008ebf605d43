import { code, h } from './dom.js'

const EXAMPLE = { channel: 'sms', to: '+15005550006', content: { text: 'Hello from svc' } }

/** What to do where there are messages and none is open. */
export function howToGoOn() {
  const keys = (name) => h('kbd', {}, name)
  return h(
    'p',
    { class: 'notice' },
    'Choose one. ',
    keys('↑'),
    keys('↓'),
    ' go through the list, ',
    keys('Esc'),
    ' comes back to it.',
  )
}

/** What to do where there is no message: the command that sends the first one, with a key if one is known. */
export function firstMessage({ key, onCompose }) {
  const command = [
    `curl -s ${location.origin}/api/v1/messages/send \\`,
    `  -H 'X-API-Key: ${key ?? 'svc_…'}' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '${JSON.stringify(EXAMPLE)}'`,
  ].join('\n')
  return h(
    'div',
    { class: 'notice' },
    h('h2', {}, 'No messages yet'),
    h('p', {}, 'Whatever this workspace sends shows up here at once. Paste this in a terminal:'),
    code(command),
    h(
      'p',
      {},
      'or ',
      h('button', { type: 'button', class: 'link', onclick: onCompose }, 'send a test from here'),
      '. The other ways in are in the ',
      h('a', { href: '/docs' }, 'API reference'),
      '.',
    ),
  )
}

/** What to expect where there is no mail. */
export function firstMail() {
  return h(
    'div',
    { class: 'notice' },
    h('h2', {}, 'No mails yet'),
    h(
      'p',
      {},
      'What the service itself writes to owners of workspaces stands here, with its links: a signup asks to verify ' +
        'the address, a forgotten password to choose a new one.',
    ),
  )
}
