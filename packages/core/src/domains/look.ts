import type { RecordFinding } from '../rows/domains.ts'
import type { SendingDomainRow } from '../rows/rows.ts'
import type { Seen } from '../rules/sending-domain.ts'
import { dkimName } from './records.ts'
import type { TxtLookup } from './txt-lookup.ts'

const FOUND_LENGTH_MAX = 200

/** The domain and at most this number of its parents may have the DMARC record. */
const PARENTS_MAX = 4

/** Looks for the records of a domain in DNS. Takes as long as the slowest look-up, because all run together. */
export async function lookForRecords(lookup: TxtLookup, row: SendingDomainRow): Promise<Seen> {
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
export function dkimFinding(texts: readonly string[], public_key: string): RecordFinding {
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
