import { code, h } from './dom.js'

const EXAMPLE = { channel: 'sms', to: '+15005550006', content: { text: 'Hello from svc' } }

/** The text beside the list when no message is open. */
export function listHint() {
  const keys = (name) => h('kbd', {}, name)
  return h(
    'p',
    { class: 'notice' },
    'Select an entry. ',
    keys('↑'),
    keys('↓'),
    ' move in the list, ',
    keys('Esc'),
    ' returns to it.',
  )
}

/** The text when there is no message: the command that sends the first one, with a key if one is known. */
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
    h('p', {}, 'Messages of this workspace appear here at once. Paste this into a terminal:'),
    code(command),
    h(
      'p',
      {},
      'or ',
      h(
        'button',
        { type: 'button', class: 'link', onclick: onCompose },
        'send a test message from here',
      ),
      '. Other endpoints are in the ',
      h('a', { href: '/docs' }, 'API reference'),
      '.',
    ),
  )
}

/** The text when there is no mail. */
export function firstMail() {
  return h(
    'div',
    { class: 'notice' },
    h('h2', {}, 'No mails yet'),
    h(
      'p',
      {},
      'This list shows the mails of the service to owners of workspaces, with their links: to verify an address after a ' +
        'signup, to choose a new password.',
    ),
  )
}
