import type { DkimKey, Outcome, SendJob } from '../contract/outside/provider.ts'
import { fromAddressOf } from '../domains/from-address.ts'
import type { SigningKey, SigningKeys } from '../domains/signing-keys.ts'
import { SANDBOX } from '../providers/installed.ts'

/** A job with its key, or the outcome of a message that no provider gets. */
export type SignedJob = { job: SendJob } | { outcome: Outcome }

/** The domain of the sender is not verified: no provider was called. */
export const UNVERIFIED: Outcome = {
  type: 'rejected',
  error_code: 'sender_not_verified',
  error_message: 'The domain of from_address is not a verified sending domain of this workspace',
}
const UNREADABLE: Outcome = {
  type: 'retry',
  error_code: 'sender_key_unreadable',
  error_message: 'The DKIM key of the sending domain cannot be decrypted',
  delay_ms: null,
}

/**
 * Gives each job with a sender address of its own the key of its domain. Only a provider that signs gets keys. A domain may
 * have been removed since the message was accepted; then no mail leaves the service.
 */
export async function signJobs(
  keys: SigningKeys | null,
  { name, signs }: { name: string; signs: boolean },
  jobs: readonly SendJob[],
): Promise<SignedJob[]> {
  if (keys === null || name === SANDBOX.name) return jobs.map((job) => ({ job }))
  const known = new Map<string, Promise<SigningKey>>()
  const keyOf = (workspaceId: string, address: string) => {
    const place = `${workspaceId} ${address.slice(address.indexOf('@') + 1)}`
    const key = known.get(place) ?? keys.of(workspaceId, address)
    known.set(place, key)
    return key
  }
  return Promise.all(
    jobs.map(async (job) => {
      const address = fromAddressOf(job)
      if (address === null) return { job }
      const key = await keyOf(job.workspace_id, address)
      return signedJob(job, key, signs)
    }),
  )
}

function signedJob(job: SendJob, key: SigningKey, signs: boolean): SignedJob {
  if (key === 'unverified') return { outcome: UNVERIFIED }
  if (!signs) return { job }
  return key === 'unreadable'
    ? { outcome: UNREADABLE }
    : { job: { ...job, dkim: key satisfies DkimKey } }
}

/** Calls `send` with the jobs that have no outcome, and returns the outcomes of all; null if `send` returns null. */
export async function sendSigned(
  signed: readonly SignedJob[],
  send: (jobs: SendJob[]) => Promise<Outcome[] | null>,
): Promise<(Outcome | undefined)[] | null> {
  const jobs = signed.flatMap((one) => ('job' in one ? [one.job] : []))
  const sent = jobs.length === 0 ? [] : await send(jobs)
  if (sent === null) return null
  const outcomes = sent[Symbol.iterator]()
  return signed.map((one) => ('outcome' in one ? one.outcome : outcomes.next().value))
}
