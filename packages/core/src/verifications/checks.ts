import type { KeyIdentity } from '../api-keys/api-keys.ts'
import type { Data } from '../contract/endpoints/endpoint.ts'
import { SvcError } from '../contract/errors.ts'
import type { verifications as endpoints } from '../contract/resources/verifications.ts'
import type { CodeCheck } from '../rules/check-codes.ts'
import { attemptsLeft, codeWindows, ended, isPending, sourceOf } from '../rules/verify.ts'
import { codeOf, isSameCode } from '../secrets/codes.ts'
import { cancelMessages } from './ends.ts'
import { findVerification, shownVerification, storedAddress } from './records.ts'
import { NOT_FOUND, overError } from './refusals.ts'
import type { CodeParts } from './send-code.ts'
import type { Verifications } from './verifications.ts'

type Checked = Data<typeof endpoints.check>

/** What ends verifications. */
export function createChecks(
  parts: CodeParts,
): Pick<Verifications<'decoded'>, 'check' | 'checkAddress' | 'cancel' | 'approve'> {
  const { storage, runtime } = parts

  async function checkCode(
    { workspace_id, mode }: KeyIdentity,
    of: CodeCheck['of'],
    code: string,
  ): Promise<Checked> {
    // Without a key, no message had a code: the database alone would reveal what is right under an empty key.
    const key = await parts.key.known()
    const at = runtime.now()
    const [checked] = await storage.hot.checkCodes([
      {
        workspace_id,
        livemode: mode === 'live',
        of,
        isRight(row) {
          // An unknown verification takes the time of a known one.
          const source = row?.seed ? sourceOf(row) : { seed: '', length: code.length }
          const isTestCode = row?.livemode === false && code === '0'.repeat(row.code_length)
          const isSame = isSameCode(code, codeOf(key ?? '', source))
          return (isSame && key !== null) || isTestCode
        },
        at,
      },
    ])
    runtime.telemetry?.codeChecked(checked?.status ?? 'not_found', mode)
    if (!checked) throw new SvcError('not_found', NOT_FOUND)
    const { status, verification } = checked
    if (status === 'approved') runtime.telemetry?.codeApproved(verification.channel, mode)
    // The only message of a code that was given was sent.
    const mayWait = status !== 'approved' || (verification.messages?.length ?? 1) > 1
    const endsNow = verification.ended_at?.getTime() === at.getTime()
    if (endsNow && mayWait) await cancelMessages(parts, verification)
    if (status === 'used') {
      throw new SvcError('not_found', 'This verification was approved before: a code works once')
    }
    return { verification_id: verification.id, status, attempts_left: attemptsLeft(verification) }
  }

  return {
    check: (identity, id, { code }) => checkCode(identity, { id }, code),
    checkAddress(identity, { to, code }) {
      const since = codeWindows(runtime.now()).recent
      return checkCode(identity, { recipient: storedAddress(to), since }, code)
    },
    async cancel(viewer, id) {
      const { workspace_id } = await findVerification(storage, viewer, id)
      const row = await storage.write(async ({ verifications }) => {
        const found = await verifications.lock(workspace_id, id)
        const at = runtime.now()
        if (!found || !isPending(found, at)) throw overError(found)
        const canceled = ended(found, 'canceled', at)
        await verifications.change(canceled)
        return canceled
      })
      await cancelMessages(parts, row)
      return shownVerification(row, runtime.now())
    },
    async approve(viewer, id) {
      const { workspace_id, livemode } = await findVerification(storage, viewer, id)
      const isRight = () => true
      const [checked] = await storage.hot.checkCodes([
        { workspace_id, livemode, of: { id }, isRight, at: runtime.now() },
      ])
      if (checked?.status !== 'approved') throw overError(checked?.verification ?? null)
      runtime.telemetry?.codeApproved(checked.verification.channel, livemode ? 'live' : 'test')
      await cancelMessages(parts, checked.verification)
      return shownVerification(checked.verification, runtime.now())
    },
  }
}
