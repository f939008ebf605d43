import type { Stage } from './rows.ts'

// Limits and quotas are small, so that clients reach them.

/** The credits that the limited key of a workspace spends in a day at most. */
export const KEY_LIMIT = 2.5

export const QUOTAS = {
  ...{ test_messages_per_day: 4, test_bytes_per_day: 2_000 },
  ...{ webhooks: 5, api_keys: 6 },
}

/** What each key did on each day: amounts in micro-credits, and numbers of messages. */
const USE = `select m.workspace_id, m.api_key_id, m.livemode, date(m.created_at / 1000, 'unixepoch') as day,
    sum(m.credits_used) as spent, count(*) as messages, k.daily_credit_limit as max,
    (select s.spent from api_key_spending s where s.workspace_id = m.workspace_id and s.api_key_id = m.api_key_id
      and s.day = date(m.created_at / 1000, 'unixepoch')) as noted
  from messages m join api_keys k on k.workspace_id = m.workspace_id and k.id = m.api_key_id
  group by 1, 2, 3, 4`

const COUNTS = `select w.id, (select count(*) from webhooks h where h.workspace_id = w.id and h.callback_origin is null) as webhooks,
    (select count(*) from api_keys k where k.workspace_id = w.id and k.is_active = 1) as api_keys from workspaces w`

/** Limits and quotas hold at any moment. */
export function checkLimits({ world, model, database }: Stage): void {
  const days = database.prepare(USE).all() as {
    workspace_id: string
    livemode: number
    day: string
    spent: number
    messages: number
    max: number | null
    noted: number | null
  }[]
  const tested = days.filter(({ livemode }) => livemode === 0)
  for (const { workspace_id, livemode, day, spent, messages, max, noted } of days) {
    const at = `${workspace_id} on ${day}: ${spent} spent, ${messages} messages`
    if (max !== null && spent > max) world.violate('the limit of a key is never exceeded', at)
    if (max !== null && livemode === 1 && spent !== noted) {
      world.violate('the spending of a key is exact', `${at}, noted ${noted}`)
    }
    // After a step of the clock back over midnight, messages count on the day after their own.
    const isOwn = !model.isClockSet || tested.every((one) => one.day === day)
    if (livemode === 0 && isOwn && messages > QUOTAS.test_messages_per_day) {
      world.violate('a quota is never exceeded', at)
    }
  }
  const bytes = database.prepare('select max(bytes) from test_usage').pluck().get() as number | null
  if ((bytes ?? 0) > QUOTAS.test_bytes_per_day) {
    world.violate('a quota is never exceeded', `${bytes} bytes of test messages in a day`)
  }
  for (const { id, ...counts } of database.prepare(COUNTS).all() as {
    id: string
    webhooks: number
    api_keys: number
  }[]) {
    const isOver = counts.webhooks > QUOTAS.webhooks || counts.api_keys > QUOTAS.api_keys
    if (isOver) world.violate('a quota is never exceeded', `${id}: ${JSON.stringify(counts)}`)
  }
}
