import { seen, type Viewer, viewOf } from '../api-keys/viewer.ts'
import type { Data } from '../contract/endpoints/endpoint.ts'
import { SvcError } from '../contract/errors.ts'
import { emailKey } from '../contract/fields/email-address.ts'
import { phone } from '../contract/fields/fields.ts'
import type { Units } from '../contract/fields/units.ts'
import type { Channel } from '../contract/resources/content.ts'
import type {
  CodeVerification,
  verifications as endpoints,
} from '../contract/resources/verifications.ts'
import type { VerificationRow } from '../rows/rows.ts'
import { attemptsLeft, isPending, nextSendAt } from '../rules/verify.ts'
import type { Storage } from '../storage/ports/storage.ts'
import { NOT_FOUND } from './refusals.ts'

/** The answer to a start or a resend. */
export type Started = Data<typeof endpoints.start>

export function startedOf(row: VerificationRow, credits_used: Units): Started {
  return {
    verification_id: row.id,
    status: row.status,
    to: row.recipient,
    channel: row.channel,
    expires_at: row.expires_at,
    next_send_at: nextSendAt(row),
    attempts_left: attemptsLeft(row),
    credits_used,
    message_id: row.message_id,
  }
}

/** The address that a channel of a verification sends to, as it is stored; undefined: it has none of this kind. */
export function addressFor(
  { recipient, other_recipient }: VerificationRow,
  channel: Channel,
): string | undefined {
  const isMail = channel === 'email'
  return [recipient, other_recipient].find((one) => one?.includes('@') === isMail) ?? undefined
}

/** The record of a verification, without its code. */
export function shownVerification(row: VerificationRow, now: Date): CodeVerification {
  const status = row.status === 'pending' && !isPending(row, now) ? 'expired' : row.status
  // An erasure may have removed the second address.
  const to = (channel: Channel) => addressFor(row, channel) ?? row.recipient
  return {
    id: row.id,
    status,
    to: row.recipient,
    channel: row.channel,
    locale: row.locale,
    livemode: row.livemode,
    attempts: row.attempts,
    attempts_left: attemptsLeft({ ...row, status }),
    messages_sent: row.sent_at.length,
    messages: (row.messages ?? []).map(({ id, channel, sent_at }) => ({
      message_id: id,
      channel,
      to: to(channel),
      sent_at: new Date(sent_at),
    })),
    fallback: (row.fallback ?? []).map((channel) => ({ channel, to: to(channel) })),
    next_fallback_at: status === 'pending' ? row.fallback_at : null,
    message_id: row.message_id,
    credits_used: row.credits_used,
    metadata: row.metadata,
    created_at: row.created_at,
    expires_at: row.expires_at,
    next_send_at: nextSendAt(row),
    ended_at: row.ended_at,
  }
}

/** A number as it is stored; an e-mail address in lower case. */
export function storedAddress(to: string): string {
  const number = phone.safeParse(to)
  return number.success ? number.data : emailKey(to)
}

/** @throws SvcError `not_found`. */
export async function findVerification(
  storage: Pick<Storage, 'read'>,
  viewer: Viewer,
  id: string,
): Promise<VerificationRow> {
  const view = viewOf(viewer)
  const row = seen(view, await storage.read.verifications.byId(view.workspace_id, id))
  if (!row) throw new SvcError('not_found', NOT_FOUND)
  return row
}
