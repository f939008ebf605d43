import { contentOf } from './content.js'
import { deliveriesOf } from './deliveries.js'
import { badge, h, time } from './dom.js'
import { read } from './requests.js'

/** The interval at which a message with a pending delivery is read again. */
const REFRESH_MS = 2_000

/** Shows one message in `element`, and the changes of the message. */
export function createMessageView(element, { onError }) {
  let shown = null
  let timer

  async function load() {
    clearTimeout(timer)
    const view = shown
    if (!view) return
    try {
      const found = await read(`messages/${view.id}`, { workspace: view.workspace })
      if (shown !== view) return
      fill(view, found)
      const hasPending = found.deliveries.some(({ status }) => status === 'pending')
      if (hasPending) timer = setTimeout(load, REFRESH_MS)
    } catch (error) {
      if (shown === view) onError(error)
    }
  }

  return {
    open(workspace, id) {
      shown = { workspace, id, parts: null, unfolded: new Set() }
      return load()
    },
    /** Reads the shown message again if it is one of `ids`. */
    refresh: (ids) => (shown && ids.includes(shown.id) ? load() : undefined),
    close() {
      shown = null
      clearTimeout(timer)
    },
  }

  function fill(view, { message, timeline, deliveries }) {
    if (!view.parts) {
      view.parts = {
        head: h('header'),
        content: h('section', { 'aria-label': 'Content' }, ...contentOf(message, view.workspace)),
        deliveries: h('section'),
        timeline: h('section'),
        record: h('section'),
      }
      element.replaceChildren(...Object.values(view.parts))
    }
    const { head, deliveries: sent, timeline: past, record } = view.parts
    head.replaceChildren(...headOf(message))
    sent.replaceChildren(h('h3', {}, 'Webhooks'), ...deliveriesOf(deliveries, view.unfolded))
    past.replaceChildren(
      h('h3', {}, 'Timeline'),
      h('ol', { class: 'timeline' }, ...timeline.map(entryOf)),
    )
    if (record.childElementCount === 0)
      record.append(h('details', {}, h('summary', {}, 'Record'), h('pre', { tabindex: '0' })))
    record.querySelector('pre').textContent = JSON.stringify(
      { ...message, sms: undefined },
      null,
      2,
    )
  }
}

function headOf(message) {
  const { channel, recipient, status, error_code, error_message, credits_used, credits_refunded } =
    message
  const refunded = credits_refunded > 0 ? `, ${credits_refunded} refunded` : ''
  const facts = [
    channel,
    message.livemode ? null : 'test key',
    message.provider && `via ${message.provider}`,
    `${credits_used} ${credits_used === 1 ? 'credit' : 'credits'}${refunded}`,
  ].filter(Boolean)
  return [
    h('h2', {}, recipient),
    h('p', { class: 'facts' }, facts.join(' · '), ' · ', time(message.created_at)),
    steps(message),
    status === 'failed'
      ? h(
          'p',
          { class: 'failure' },
          h('code', {}, error_code ?? 'failed'),
          ' ',
          error_message ?? '',
        )
      : null,
  ].filter(Boolean)
}

/** The statuses of a message, with the time at which the message reached each of them. */
function steps(message) {
  const { status, channel, sent_at, failed_at } = message
  const statuses =
    status === 'failed'
      ? ['queued', sent_at && 'sent', 'failed'].filter(Boolean)
      : [
          'queued',
          'sent',
          'delivered',
          ...(channel === 'whatsapp' || status === 'read' ? ['read'] : []),
        ]
  const reached = {
    queued: message.created_at,
    sent: sent_at,
    delivered: message.delivered_at,
    read: message.read_at,
    failed: failed_at,
  }
  return h(
    'ol',
    { class: 'steps', 'aria-label': `Status: ${status}` },
    ...statuses.map((step) =>
      h(
        'li',
        {
          'data-status': step,
          'data-reached': Boolean(reached[step]),
          'aria-current': step === status ? 'step' : null,
        },
        step,
        reached[step] ? time(reached[step]) : null,
      ),
    ),
  )
}

function entryOf({ at, kind, ...entry }) {
  const texts = {
    status: () => [badge(entry.status), entry.applied ? '' : ' (too late, ignored)'],
    provider: () => [
      h('strong', {}, entry.provider),
      ` attempt ${entry.attempt}: ${entry.outcome}`,
    ],
    ledger: () => [
      h('strong', {}, 'credits'),
      ` ${entry.type} ${signed(entry.credits)}`,
      entry.reference.type === 'bulk' ? ' for the whole bulk' : '',
      `, balance ${entry.balance_after}`,
    ],
    webhook: () => [h('strong', {}, 'webhook'), ` ${entry.event}: ${entry.status}`],
  }[kind]
  const cause = entry.error_code ? [' ', h('code', {}, entry.error_code)] : []
  const words = texts ? [...texts(), ...cause] : [h('strong', {}, kind), ' ', JSON.stringify(entry)]
  return h('li', {}, time(at), h('span', {}, ...words))
}

function signed(credits) {
  if (credits === 0) return '0'
  return credits > 0 ? `+${credits}` : `−${-credits}`
}
