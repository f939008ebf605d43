import { invalid } from '../contract/errors.ts'
import { EVENTS, type EventData, type EventKind } from '../contract/resources/events.ts'
import type { LoggedEvent } from '../storage/ports/stores.ts'

/** One event of this kind: the body that a webhook gets, decoded, and its place in the order of all events. */
export interface EventOf<Kind extends EventKind> {
  /** The kind of the event. */
  event: Kind
  /** What a webhook gets as `data`: instants are Dates, amounts are micro-credits. */
  data: EventData<Kind>
  /** The id of the event; a webhook gets it in the header `webhook-id`. */
  id: string
  /** The workspace that the event is about. */
  workspace_id: string
  /** The place of the event: pass it as `after` to continue behind this event. */
  cursor: string
  /** When the event happened. */
  created_at: Date
}

/** An event of any kind; `event` tells the kinds apart. */
export type CoreEvent = { [Kind in EventKind]: EventOf<Kind> }[EventKind]

/** The event of a row; null if this version does not know its kind or its form. */
export function eventOf({ body, id, workspace_id, created_at, position }: LoggedEvent) {
  const { event, data } = JSON.parse(body) as { event: string; data: unknown }
  if (!isKind(event)) return null
  const decoded = EVENTS[event].data.safeParse(data)
  if (!decoded.success) return null
  const cursor = cursorOf(position)
  // The schema of the kind decoded the data of the kind.
  return { event, data: decoded.data, id, workspace_id, cursor, created_at } as CoreEvent
}

function isKind(event: string): event is EventKind {
  return Object.hasOwn(EVENTS, event)
}

/** The cursor of a position. */
export function cursorOf(position: number): string {
  return String(position)
}

/** The position of a cursor. @throws SvcError `validation_error` */
export function positionOf(cursor: string): number {
  if (!/^\d{1,15}$/.test(cursor)) throw invalid('after', 'Invalid cursor')
  return Number(cursor)
}
