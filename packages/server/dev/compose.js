import { h } from './dom.js'
import { MAILBOXES, PHONES } from './recipients.js'
import { sendMessage } from './requests.js'

/** The kinds of messages with the initial values of their fields. */
const KINDS = {
  sms: { channel: 'sms', title: 'SMS', fields: { text: 'Hello from svc' } },
  email: {
    channel: 'email',
    title: 'E-mail',
    fields: { subject: 'Hello from svc', html: '<h1>Hello</h1>\n<p>It works.</p>' },
  },
  whatsapp: { channel: 'whatsapp', title: 'WhatsApp text', fields: { text: 'Hello from svc' } },
  media: {
    channel: 'whatsapp',
    title: 'WhatsApp media',
    json: { media: { type: 'image', url: 'https://example.com/cat.jpg', caption: 'A cat' } },
  },
  template: {
    channel: 'whatsapp',
    title: 'WhatsApp template',
    json: { template: { name: 'order_ready', language: 'en', variables: { name: 'Asha' } } },
  },
}

const LABELS = { text: 'Text', subject: 'Subject', html: 'HTML', content: 'Content, as JSON' }

/** The form that sends a message through the API, as any client would. */
export function createComposer(dialog, { keyOf, onSent }) {
  const kind = h('select', { name: 'kind' })
  kind.append(...Object.entries(KINDS).map(([value, { title }]) => h('option', { value }, title)))
  const to = h('input', { name: 'to', required: true, autocomplete: 'off', spellcheck: 'false' })
  const key = h('input', { name: 'key', required: true, autocomplete: 'off', spellcheck: 'false' })
  const fields = h('div', { class: 'fields' })
  const magic = h('ul', { class: 'magic' })
  const problem = h('p', { class: 'failure', role: 'alert', hidden: true })
  const submit = h('button', { class: 'primary' }, 'Send')
  const form = h(
    'form',
    { method: 'dialog' },
    h('h2', { id: 'composer-title' }, 'Send a test message'),
    h('label', {}, 'Kind', kind),
    h('label', {}, 'To', to),
    h('details', {}, h('summary', {}, 'Test recipients'), magic),
    fields,
    h('label', {}, 'API key', key),
    problem,
    h(
      'p',
      { class: 'actions' },
      h('button', { type: 'button', onclick: () => dialog.close() }, 'Cancel'),
      submit,
    ),
  )
  dialog.replaceChildren(form)

  function arrange() {
    const { channel, fields: texts, json } = KINDS[kind.value]
    const recipients = channel === 'email' ? MAILBOXES : PHONES
    const hasOtherForm = to.value.includes('@') !== (channel === 'email')
    if (to.value === '' || hasOtherForm) to.value = recipients[0][0]
    magic.replaceChildren(
      ...recipients.map(([address, result]) => {
        const take = () => {
          to.value = address
          to.focus()
        }
        return h('li', {}, h('button', { type: 'button', onclick: take }, address), ` ${result}`)
      }),
    )
    const inputs = json
      ? [['content', JSON.stringify(json, null, 2), true]]
      : Object.entries(texts).map(([name, value]) => [name, value, name !== 'subject'])
    fields.replaceChildren(...inputs.map(([name, value, isLong]) => field(name, value, isLong)))
  }

  async function send(event) {
    event.preventDefault()
    problem.hidden = true
    submit.disabled = true
    try {
      const { message_id } = await sendMessage(
        key.value.trim(),
        messageOf(kind.value, to.value, fields),
      )
      dialog.close()
      onSent(message_id)
    } catch (error) {
      problem.textContent = error.message
      problem.hidden = false
    } finally {
      submit.disabled = false
    }
  }

  kind.addEventListener('change', arrange)
  form.addEventListener('submit', send)
  arrange()

  return {
    open() {
      key.value = keyOf() ?? key.value
      problem.hidden = true
      dialog.showModal()
      to.select()
    },
  }
}

function field(name, value, isLong) {
  const input = h(isLong ? 'textarea' : 'input', {
    name,
    rows: isLong ? '5' : null,
    required: true,
  })
  input.value = value
  return h('label', {}, LABELS[name], input)
}

function messageOf(kind, to, fields) {
  const { channel, json } = KINDS[kind]
  const values = Object.fromEntries(
    [...fields.querySelectorAll('[name]')].map(({ name, value }) => [name, value]),
  )
  const content = json ? JSON.parse(values.content) : values
  return { channel, to: to.trim(), content }
}
