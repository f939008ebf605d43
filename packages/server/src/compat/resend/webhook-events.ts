import { invalid } from '@svc/core/contract'
import { RESEND_EVENTS as EVENTS } from '@svc/core/operate'

type Kind = (typeof EVENTS)[keyof typeof EVENTS][number]

/**
 * The subscriptions for events of Resend.
 * @throws SvcError `validation_error` for an event that the service does not have.
 */
export function subscriptionsOf(names: readonly string[]): Kind[] {
  const kinds = names.flatMap((name, index): readonly Kind[] => {
    if (Object.hasOwn(EVENTS, name)) return EVENTS[name as keyof typeof EVENTS]
    const known = Object.keys(EVENTS).join(', ')
    throw invalid(
      `events.${index}`,
      `The event ${JSON.stringify(name)} is not supported. Must be one of: ${known}`,
    )
  })
  return [...new Set(kinds)]
}

/** The events of Resend that a webhook gets. */
export function eventNames(subscriptions: readonly string[]): string[] {
  const isAll = subscriptions.includes('*')
  return Object.entries(EVENTS)
    .filter(([, kinds]) => isAll || kinds.some((kind) => subscriptions.includes(kind)))
    .map(([name]) => name)
}
