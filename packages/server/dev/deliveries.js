import { badge, h, time } from './dom.js'

/** Webhook deliveries with their payloads and responses. A delivery in `unfolded` is shown open. */
export function deliveriesOf(deliveries, unfolded) {
  if (deliveries.length === 0) {
    return [
      h(
        'p',
        { class: 'facts' },
        'No webhook got an event. ',
        h('code', {}, 'svc webhooks listen'),
        ' creates a webhook and prints its events.',
      ),
    ]
  }
  return deliveries.map((delivery) => {
    const {
      id,
      event,
      url,
      status,
      attempt_count,
      max_attempts,
      next_attempt_at,
      payload,
      attempts,
    } = delivery
    const count = `${attempt_count} of ${max_attempts} attempts`
    const fold = h(
      'details',
      { class: 'delivery', open: unfolded.has(id) },
      h(
        'summary',
        {},
        badge(status),
        h('strong', {}, event),
        h('span', { class: 'address' }, url ?? 'a deleted webhook'),
      ),
      h(
        'p',
        { class: 'facts' },
        count,
        ...(next_attempt_at ? [' · next ', time(next_attempt_at)] : []),
      ),
      h('h4', {}, 'Payload'),
      h('pre', { tabindex: '0' }, pretty(payload)),
      ...attempts.map(attemptOf),
    )
    fold.addEventListener('toggle', () => (fold.open ? unfolded.add(id) : unfolded.delete(id)))
    return fold
  })
}

function attemptOf({ number, started_at, duration_ms, response_status, response_body, error }) {
  const answer = response_status === null ? (error ?? 'no answer') : `answered ${response_status}`
  return h(
    'div',
    {},
    h('h4', {}, `Attempt ${number}: ${answer}`),
    h(
      'p',
      { class: 'facts' },
      time(started_at),
      ` · ${duration_ms} ms`,
      response_status !== null && error ? ` · ${error}` : '',
    ),
    response_body ? h('pre', { tabindex: '0' }, response_body) : null,
  )
}

function pretty(payload) {
  if (payload === null) return 'The payload was deleted.'
  try {
    return JSON.stringify(JSON.parse(payload), null, 2)
  } catch {
    return payload
  }
}
