import type { Domain, DomainRecord, DomainRecordPurpose } from '../contract/resources/domains.ts'
import type { SendingDomainRow } from '../rows/rows.ts'
import { acceptedUntil } from '../rules/sending-domain.ts'

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
export function dkimName(selector: string, domain: string): string {
  return `${selector}._domainkey.${domain}`
}

function dkimValue(public_key: string): string {
  return `v=DKIM1; k=rsa; p=${public_key}`
}
