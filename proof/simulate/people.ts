import { type Stage, untilAnswered } from './client.ts'
import { write } from './reports.ts'
import type { Doing } from './script.ts'

// People who write back, and the people that an operator erases.

/** Messages that a provider took with an answer, so that the service knows who may write back. */
function reached({ database }: Stage, which: number, channels = "'sms', 'whatsapp'") {
  const rows = database()
    .prepare(
      `select id, workspace_id, channel, recipient as address from messages
       where livemode = 1 and accepted = 1 and erased_at is null and channel in (${channels}) and recipients is null and bulk_id is null and provider <> 'spare'
       and api_key_id is not null
       and exists (select 1 from message_attempts a where a.message_id = messages.id and a.outcome = 'accepted') order by id desc limit 30`,
    )
    .all() as { id: string; workspace_id: string; channel: 'sms' | 'whatsapp'; address: string }[]
  return rows[which % rows.length]
}

export function writeBack(stage: Stage, { which, text, copies }: Doing<'write'>): void {
  const { model, world } = stage
  const found = world.core && reached(stage, which)
  if (!found || model.erasing.has(found.address)) return
  const place = model.places.findIndex(({ id }) => id === found.workspace_id)
  write({ ...found, place }, text, copies)
}

/** A person whose number was also wrong in a bulk, which rejected it. */
function rejected({ model }: Stage): string | undefined {
  const bulks = model.asked.filter(({ kind, ids }) => kind === 'bulk' && ids.length > 0)
  for (const { body } of bulks) {
    const [first, ...rest] = (body as { recipients: unknown[] }).recipients
    if (rest.includes(`(${first}, office)`)) return first as string
  }
  return undefined
}

/** An operator erases a person. */
export async function erase(stage: Stage, which: number): Promise<void> {
  const { world, model } = stage
  const found = world.core && reached(stage, which, "'sms', 'whatsapp', 'email'")
  const address = (which % 3 === 0 ? rejected(stage) : undefined) ?? found?.address
  if (!world.core || address === undefined) return
  model.erasing.add(address)
  const before = model.asked.flatMap(({ body, ids }) =>
    (body as { to?: string }).to === address ? ids : [],
  )
  const at = world.nameOf('r', address)
  const answer = await untilAnswered(stage, `erase ${at}`, (core) => core.recipients.erase(address))
  if (!('value' in answer)) return
  world.trace(
    `erased ${at}: ${answer.value.messages} messages, ${answer.value.under_way} in flight`,
  )
  if (answer.value.under_way === 0) for (const id of before) model.erased.set(id, address)
}
