import { addressesOf } from '../model.ts'
import type { Connection } from '../world.ts'
import { isLost } from './attempts.ts'
import {
  brief,
  CONTENT,
  hasAllEvents,
  type MessageRow,
  type RecipientRow,
  recipientsOf,
  type Stage,
} from './rows.ts'

/** Each of several recipients of a mail has its own outcome, and its own share of the price. */
export function checkMails(
  { world, model, database }: Stage,
  messages: readonly MessageRow[],
): void {
  const failures = failuresIn(database)
  const bodies = new Map(model.asked.flatMap(({ ids, body }) => ids.map((id) => [id, body])))
  for (const row of messages) {
    const recipients = recipientsOf(row)
    if (recipients.length === 0 || row.erased_at !== null) continue
    const at = `${world.nameOf('m', row.id)} ${brief(row)} ${row.recipients}`
    const violate = (text: string) =>
      world.violate('each recipient has its own outcome', `${at}: ${text}`)
    const body = bodies.get(row.id)
    const asked = body === undefined ? null : addressesOf(body).join()
    if (asked !== null && asked !== recipients.map(({ address }) => address).join()) {
      violate(`asked for ${asked}`)
    }
    const rejected = recipients.filter((one) => one.status === 'failed' && !one.accepted)
    if (row.credits_refunded !== (row.credits_used / recipients.length) * rejected.length) {
      violate(`${rejected.length} were rejected`)
    }
    const reached = recipients.filter(({ status }) => status !== 'failed')
    const isDelivered = reached.every(({ status }) => status === 'delivered')
    const whole = reached.length === 0 ? 'failed' : isDelivered ? 'delivered' : 'sent'
    if (row.status !== whole) violate(`it is ${whole}`)
    // The erasure of one recipient removes all names from the events, also while the mail is in flight.
    const isNamed =
      hasAllEvents(model, row.workspace_id) &&
      !recipients.some(({ address }) => model.erasing.has(address))
    const announced = failures.get(row.id) ?? []
    for (const { address, status, accepted } of recipients) {
      const person = model.carried.get(row.id)?.people.get(address)
      if (person && person.copies > 0 && !accepted) violate(`${address} has it`)
      const isArrived = person?.reports.some((one) => one === 'delivered' || one === 'read')
      if (isArrived && accepted && status !== 'delivered') violate(`${address} was delivered`)
      const count = announced.filter((one) => one === address).length
      if (count > 1 || (isNamed && status === 'failed' && count === 0)) {
        violate(`${count} events about the failure of ${address}`)
      }
    }
    checkAnswersFor(row, recipients)
  }

  /** The answers of providers about each recipient count. */
  function checkAnswersFor(row: MessageRow, recipients: readonly RecipientRow[]): void {
    for (const call of model.calls) {
      if (call.message_id !== row.id || call.answer?.type !== 'accepted') continue
      if (isLost(world, model, call)) continue
      for (const address of call.due) {
        const type = call.listed.find((one) => one.address === address)?.type ?? 'accepted'
        const stored = recipients.find((one) => one.address === address)
        const isRejected = stored?.status === 'failed' && !stored.accepted
        const wasReported = model.carried.get(row.id)?.people.get(address)?.wasReported
        const isRight =
          type === 'accepted' ? !isRejected : type === 'retry' || isRejected || wasReported
        if (isRight) continue
        const at = `${world.nameOf('m', row.id)}: ${address} was ${type}`
        world.violate('an answer of a provider counts', `${at}, and is ${stored?.status}`)
      }
    }
  }
}

/** The recipients whose failure was announced, by message. */
function failuresIn(database: Connection): Map<string, string[]> {
  const events = database
    .prepare(
      "select message_id, body from events where event in ('message.failed', 'message.recipients_failed') and message_id is not null",
    )
    .all() as { message_id: string; body: string }[]
  const failures = new Map<string, string[]>()
  for (const { message_id, body } of events) {
    const { data } = JSON.parse(body) as { data: { failed_recipients?: string[] } }
    const known = failures.get(message_id) ?? []
    failures.set(message_id, [...known, ...(data.failed_recipients ?? [])])
  }
  return failures
}

/** What people wrote is stored once, and nothing of an erased person is left. */
export function checkPeople({ world, model, database }: Stage): void {
  const stored = database
    .prepare('select count(*) from received_messages where provider_message_id = ?')
    .pluck()
  for (const { provider_message_id, isAnswered } of model.written) {
    const count = stored.get(provider_message_id) as number
    const isLost = isAnswered && count === 0 && model.erasing.size === 0
    if (count > 1 || isLost)
      world.violate('a reply is stored once', `${provider_message_id}: ${count}`)
  }
  const left = database
    .prepare(
      `select count(*) from (select recipient as text, id from messages
       union all select body, message_id from events union all select ${CONTENT}, id from messages)
       where id = ? and instr(text, ?) > 0`,
    )
    .pluck()
  for (const [id, address] of model.erased) {
    const count = left.get(id, address) as number
    if (count > 0)
      world.violate('an erased person is gone', `${world.nameOf('m', id)}: ${count} texts`)
  }
  const unmatched = database
    .prepare(
      `select 'content ' || id from message_contents c
         where not exists (select 1 from messages m where m.content = cast(c.id as text) and m.content < ':')
       union all select 'message ' || id from messages m where m.content < ':'
         and not exists (select 1 from message_contents c where c.id = cast(m.content as integer))`,
    )
    .pluck()
  for (const each of unmatched.all()) world.violate('a long content has a message', `${each}`)
}
