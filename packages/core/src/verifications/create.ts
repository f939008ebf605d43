import { viewOf } from '../api-keys/viewer.ts'
import { pageOf, sliceOf, withNext } from '../contract/endpoints/paging.ts'
import { LIMITS } from '../contract/limits.ts'
import { idFloor } from '../runtime/runtime.ts'
import { createChecks } from './checks.ts'
import type { FallBack } from './fallbacks.ts'
import { createFurther } from './further.ts'
import { createCodePauses } from './pauses.ts'
import { findVerification, shownVerification, storedAddress } from './records.ts'
import { type CodeParts, createSendCode } from './send-code.ts'
import { createStarts } from './starts.ts'
import { funnelOf, statsOf, statsSince } from './stats.ts'
import type { Verifications } from './verifications.ts'

export function createVerifications(parts: CodeParts): {
  verifications: Verifications<'decoded'>
  fallBack: FallBack
} {
  const { storage, runtime } = parts
  const sendCode = createSendCode(parts)
  const { resend, fallBack } = createFurther(parts, sendCode)
  const pauses = createCodePauses(parts)
  const verifications: Verifications<'decoded'> = {
    ...createStarts(parts, sendCode),
    ...createChecks(parts),
    ...pauses,
    resend,
    async get(viewer, id) {
      return shownVerification(await findVerification(storage, viewer, id), runtime.now())
    },
    async list(viewer, query) {
      const { workspace_id, livemode } = viewOf(viewer)
      const { status, channel, to } = query
      const now = runtime.now()
      const recipient = to === undefined ? undefined : storedAddress(to)
      const filter = { livemode, status, channel, recipient, now }
      const slice = sliceOf(query)
      const [found, total] = await Promise.all([
        storage.read.verifications.list(workspace_id, filter, withNext(slice)),
        storage.read.verifications.count(workspace_id, filter),
      ])
      const { rows, next_after } = pageOf(found, slice, ({ id }) => id)
      return { verifications: rows.map((row) => shownVerification(row, now)), total, next_after }
    },
    async stats(viewer, { days }) {
      const { workspace_id, livemode } = viewOf(viewer)
      const now = runtime.now()
      const since = statsSince(now, days)
      const isLive = livemode !== false
      const limit = LIMITS.verifications_counted
      const [counts, paused, progress] = await Promise.all([
        isLive ? storage.read.verifications.totals(workspace_id, since) : [],
        isLive ? pauses.pauses(workspace_id) : [],
        storage.read.verifications.progress(workspace_id, {
          livemode: isLive,
          since_id: idFloor(since),
          limit,
        }),
      ])
      return { ...statsOf(since, counts), paused, funnel: funnelOf(since, progress) }
    },
  }
  return { verifications, fallBack }
}
