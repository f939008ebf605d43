import { type Actor, auditRow, SERVICE } from '../audit/entry.ts'
import type { Domain, DomainRecord, DomainRecordPurpose } from '../contract/resources/domains.ts'
import type { RecordFinding } from '../rows/domains.ts'
import type { SendingDomainRow } from '../rows/rows.ts'
import { acceptedUntil, planCheck, type Seen } from '../rules/sending-domain.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'
import type { TxtLookup } from './txt-lookup.ts'

/** The parts of a check. */
export interface CheckParts {
  storage: Storage
  runtime: Runtime
  lookup: TxtLookup
}

/** The result of a check. */
interface Checked {
  row: SendingDomainRow
  /** Whether another workspace holds the claim of the name, so that the domain was not verified. */
  is_taken: boolean
}

/** Domains that one sweep checks. The next sweep, a minute later, checks the others. */
const SWEEP_MAX = 50
/** Domains that are checked together. */
const TOGETHER_MAX = 10

/** Looks for the records of a domain, and stores the result. Null if the domain was removed meanwhile. */
export async function checkDomain(
  parts: CheckParts,
  before: SendingDomainRow,
  actor: Actor = SERVICE,
): Promise<Checked | null> {
  const seen = await lookForRecords(parts.lookup, before)
  const checked = await settleCheck(parts, before, seen, actor)
  if (checked && checked.row.status !== before.status) {
    const { workspace_id, id, domain, status } = checked.row
    const level = status === 'verified' ? 'info' : 'warn'
    parts.runtime.log[level](
      { workspace_id, domain_id: id, domain, status },
      'a sending domain changed',
    )
  }
  return checked
}

/** Checks the domains whose regular check is due. */
export async function checkDueDomains(parts: CheckParts, isStopping: () => boolean): Promise<void> {
  const { sendingDomains } = parts.storage.read
  const due = await sendingDomains.due(parts.runtime.now(), SWEEP_MAX)
  for (let at = 0; at < due.length && !isStopping(); at += TOGETHER_MAX) {
    await Promise.all(
      due.slice(at, at + TOGETHER_MAX).map(async ({ workspace_id, id }) => {
        const row = await sendingDomains.byId(workspace_id, id)
        if (row) await checkDomain(parts, row)
      }),
    )
  }
}

async function settleCheck(
  { storage, runtime }: CheckParts,
  before: SendingDomainRow,
  seen: Seen,
  actor: Actor,
): Promise<Checked | null> {
  const { workspace_id, id } = before
  return storage.write(async ({ sendingDomains, audit }) => {
    const row = await sendingDomains.lock(workspace_id, id)
    if (!row) return null
    // A rotation since then made other keys: these findings are about the old ones.
    const isOutdated =
      row.selector !== before.selector || row.next_selector !== before.next_selector
    if (isOutdated) return { row, is_taken: false }
    const now = runtime.now()
    const plan = planCheck(row, seen, now)
    if (plan.claim === 'take' && !(await sendingDomains.claim(row, now))) {
      return { row, is_taken: true }
    }
    if (plan.claim === 'release') await sendingDomains.release(workspace_id, id)
    await sendingDomains.change(workspace_id, id, plan.change)
    for (const action of plan.actions) {
      const entry = {
        workspace_id,
        action,
        target: { type: 'domain', id },
        details: { domain: row.domain },
      }
      await audit.record(auditRow(runtime, actor, entry))
    }
    return { row: { ...row, ...plan.change }, is_taken: false }
  })
}

const FOUND_LENGTH_MAX = 200

/** The domain and at most this number of its parents may have the DMARC record. */
const PARENTS_MAX = 4

/** Looks for the records of a domain in DNS. Takes as long as the slowest look-up, because all run together. */
async function lookForRecords(lookup: TxtLookup, row: SendingDomainRow): Promise<Seen> {
  const { domain, selector, public_key, next_selector, next_public_key } = row
  const key = async (name: string, expected: string) => {
    const texts = await lookup(dkimName(name, domain))
    return texts && dkimFinding(texts, expected)
  }
  const [dkim, dkim_next, dmarc] = await Promise.all([
    key(selector, public_key),
    next_selector !== null && next_public_key !== null ? key(next_selector, next_public_key) : null,
    lookForDmarc(lookup, domain),
  ])
  return { dkim, dmarc, ...(next_selector !== null && { dkim_next }) }
}

/** A record is right if it is the only key of its selector and has the public key: RFC 6376, section 3.6.1. */
function dkimFinding(texts: readonly string[], public_key: string): RecordFinding {
  const keys = texts.map(tagsOf).filter((tags) => tags.has('p') || tags.get('v') === 'DKIM1')
  const [tags] = keys
  if (!tags) return finding(texts)
  const isRight =
    keys.length === 1 &&
    tags.get('p')?.replace(/\s+/g, '') === public_key &&
    (tags.get('v') ?? 'DKIM1') === 'DKIM1' &&
    (tags.get('k') ?? 'rsa').toLowerCase() === 'rsa' &&
    isForMail(tags)
  return isRight ? { state: 'verified', found: null } : finding(texts)
}

/** Whether the record allows SHA-256 and e-mail. */
function isForMail(tags: ReadonlyMap<string, string>): boolean {
  const lists = (name: string, wanted: readonly string[]) => {
    const list = tags.get(name)
    return list === undefined || list.split(':').some((item) => wanted.includes(item.trim()))
  }
  return lists('h', ['sha256']) && lists('s', ['*', 'email'])
}

/** The policy of the domain, or of the nearest parent that has one. */
async function lookForDmarc(lookup: TxtLookup, domain: string): Promise<RecordFinding | null> {
  const labels = domain.split('.')
  const names = labels
    .slice(0, Math.min(labels.length - 1, PARENTS_MAX + 1))
    .map((_, i) => `_dmarc.${labels.slice(i).join('.')}`)
  const answers = await Promise.all(names.map(lookup))
  const hasPolicy = answers.some((texts) => texts?.some((text) => /^v=DMARC1\s*(?:;|$)/.test(text)))
  if (hasPolicy) return { state: 'verified', found: null }
  return answers.includes(null) ? null : { state: 'missing', found: null }
}

/** The tags of a record (RFC 6376, section 3.2). The first tag of a name counts. */
function tagsOf(text: string): Map<string, string> {
  const tags = new Map<string, string>()
  for (const part of text.split(';')) {
    const at = part.indexOf('=')
    if (at < 0) continue
    const name = part.slice(0, at).trim()
    if (!tags.has(name)) tags.set(name, part.slice(at + 1).trim())
  }
  return tags
}

function finding(texts: readonly string[]): RecordFinding {
  const [first] = texts
  if (first === undefined) return { state: 'missing', found: null }
  // A stranger's record is shown on terminals and pages.
  return {
    state: 'mismatch',
    found: first.slice(0, FOUND_LENGTH_MAX).replace(/[^\x20-\x7e]/g, '?'),
  }
}

/** The record of the API, without private keys. */
export function domainOf(row: SendingDomainRow): Domain {
  return {
    id: row.id,
    domain: row.domain,
    status: row.status,
    records: recordsOf(row),
    previous_selector: row.previous_selector,
    check_error: row.check_error,
    checked_at: row.checked_at,
    verified_at: row.verified_at,
    failing_since: row.failing_since,
    accepted_until: acceptedUntil(row),
    created_at: row.created_at,
    updated_at: row.updated_at,
  }
}

function recordsOf(row: SendingDomainRow): DomainRecord[] {
  const { domain, selector, public_key, next_selector, next_public_key } = row
  const record = (
    purpose: DomainRecordPurpose,
    fields: Pick<DomainRecord, 'name' | 'value' | 'is_required'>,
  ): DomainRecord => {
    const { state, found } = row.findings[purpose] ?? { state: 'pending', found: null }
    return { purpose, type: 'TXT', ...fields, state, found }
  }
  const keys = [
    record('dkim', {
      name: dkimName(selector, domain),
      value: dkimValue(public_key),
      is_required: true,
    }),
  ]
  if (next_selector !== null && next_public_key !== null) {
    keys.push(
      record('dkim_next', {
        name: dkimName(next_selector, domain),
        value: dkimValue(next_public_key),
        is_required: true,
      }),
    )
  }
  return [
    ...keys,
    record('dmarc', {
      name: `_dmarc.${domain}`,
      // Receivers report and refuse nothing: the owner can choose a stricter policy later (RFC 7489, section 6.3).
      value: 'v=DMARC1; p=none',
      is_required: false,
    }),
  ]
}

/** The name of a key's record: RFC 6376, section 3.6.2.1. */
function dkimName(selector: string, domain: string): string {
  return `${selector}._domainkey.${domain}`
}

function dkimValue(public_key: string): string {
  return `v=DKIM1; k=rsa; p=${public_key}`
}
