import type { SendJob } from '../../../packages/core/src/contract/outside/provider.ts'
import { elapsedMs } from '../clock.ts'
import { CATEGORIES, ENDED_PLACE, ENDINGS } from '../mailings.ts'
import { dueOf, fileOf, optOutOf, outside } from '../outside.ts'

/** What must hold for the content and the recipients of a message that a provider gets. */
export function checkSent(job: SendJob): void {
  for (const address of job.recipients ? dueOf(job) : [job.recipient]) assertMayReach(job, address)
  assertMaySendFrom(job)
  assertNotPaused(job)
  assertVersion(job)
  assertEnd(job)
  assertFiles(job)
}

/** After this time, a message was accepted before the opt-out and has waited. */
const OPTED_OUT_MS = 300_000

function assertMayReach(job: SendJob, recipient: string): void {
  const { workspace_id, message_id, channel, content } = job
  const { world, model } = outside
  const place = model.places.findIndex(({ id }) => id === workspace_id)
  const { toggle, since_ms } = optOutOf(place, channel, recipient)
  if (toggle.state !== 'yes' || model.isClockSet || elapsedMs() < since_ms + OPTED_OUT_MS) return
  // The service's own answers to the words name them.
  if (JSON.stringify(content).includes('Reply ST')) return
  world.violate('an opt-out holds', `${world.nameOf('m', message_id)} was sent`)
}

/** A mail that was read with its domain is sent within this time. */
const DOMAIN_READ_MS = 5_000

function assertMaySendFrom({ workspace_id, message_id, content }: SendJob): void {
  const { world, model } = outside
  const { from_address } = content as { from_address?: string }
  const domain = model.domains.find(
    ({ place, name }) =>
      model.places[place]?.id === workspace_id && from_address?.endsWith(`@${name}`),
  )
  if (domain?.usable.state !== 'no' || domain.isLost) return
  if (elapsedMs() < domain.since_ms + DOMAIN_READ_MS) return
  const at = `${world.nameOf('m', message_id)} from ${domain.name}`
  world.violate('only a verified domain is used', at)
}

/** A message of a bulk that was claimed before the pause is sent within this time. */
const CLAIMED_MS = 15_000

function assertNotPaused({ workspace_id, message_id }: SendJob): void {
  const { world, model, database } = outside
  if (model.bulkPauses.size === 0) return
  const find = database()
    .prepare('select bulk_id from messages where workspace_id = ? and id = ?')
    .pluck()
  const paused = model.bulkPauses.get((find.get(workspace_id, message_id) as string | null) ?? '')
  if (paused?.toggle.state !== 'yes') return
  const { since_ms } = paused
  if (elapsedMs() < since_ms + CLAIMED_MS || model.sleeps.some((at) => at >= since_ms)) return
  world.violate('a paused bulk sends nothing', `${world.nameOf('m', message_id)} was sent`)
}

/** A message from a template has the text of its version, with all values. */
function assertVersion({ workspace_id, message_id, content }: SendJob): void {
  const { world, model, database } = outside
  const row = database()
    .prepare('select template, template_version from messages where workspace_id = ? and id = ?')
    .get(workspace_id, message_id) as { template: string | null; template_version: number }
  if (!row?.template) return
  const { text, html } = content as { text?: string; html?: string }
  const at = `${world.nameOf('m', message_id)} of ${row.template} ${row.template_version}`
  const mark = model.published.get(`${workspace_id} ${row.template} ${row.template_version}`)
  for (const part of [text, html]) {
    if (part === undefined) continue
    const isOther = mark !== undefined && !part.includes(`#${mark}#`)
    if (!isOther && !part.includes('{{')) continue
    world.violate('a message has the text of its version', `${at}: ${part.slice(0, 200)}`)
  }
}

/** As long as no owner changed them, marketing messages end with the texts of their workspace. */
function assertEnd({ workspace_id, message_id, channel, content }: SendJob): void {
  const { world, model, database } = outside
  const place = model.places.findIndex(({ id }) => id === workspace_id)
  if (model.quiet[place]?.length !== 0) return
  const find = database()
    .prepare('select template from messages where workspace_id = ? and id = ?')
    .pluck()
  const template = find.get(workspace_id, message_id) as string | null
  const isEnded = CATEGORIES[template ?? ''] === 'marketing' && place === ENDED_PLACE
  const { text = '', html = '' } = content as { text?: string; html?: string }
  const hasEnd =
    channel === 'sms'
      ? text.endsWith(`\n${ENDINGS.sms_opt_out_text}`)
      : html.includes(`>${ENDINGS.postal_address}</p></body>`)
  if (hasEnd === isEnded) return
  const at = `${world.nameOf('m', message_id)} of ${template}: ${text}${html}`
  world.violate('marketing messages end with the texts of their workspace', at)
}

/** A mail has its files as the client gave them. */
function assertFiles({ message_id, content }: SendJob): void {
  const { attachments = [] } = content as {
    attachments?: { filename: string; content: string }[]
  }
  for (const { filename, content } of attachments) {
    if (content === fileOf(filename).toString('base64')) continue
    const at = `${outside.world.nameOf('m', message_id)}: ${filename}`
    outside.world.violate('a file arrives as it was given', at)
  }
}
