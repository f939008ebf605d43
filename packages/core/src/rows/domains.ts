import type {
  DomainRecordPurpose,
  DomainRecordState,
  DomainStatus,
} from '../contract/resources/domains.ts'
import type { Dialect } from './dialect.ts'
import type { Sealed } from './sealed.ts'

/** The result of the last look at one record. */
export interface RecordFinding {
  state: DomainRecordState
  found: string | null
}

export function domainTables(d: Dialect) {
  const sending_domains = d.table(
    'sending_domains',
    {
      workspace_id: d.text().notNull(),
      id: d.text().notNull(),
      /** The name in lower-case A-labels. */
      domain: d.text().notNull(),
      status: d.text().$type<DomainStatus>().notNull(),
      selector: d.text().notNull(),
      /** The key in PEM (PKCS #8). */
      private_key: d.text().$type<Sealed>().notNull(),
      /** The public key in base64 (SPKI), as in the record. */
      public_key: d.text().notNull(),
      /** The key of a rotation, until its record is verified. */
      next_selector: d.text(),
      next_private_key: d.text().$type<Sealed>(),
      next_public_key: d.text(),
      previous_selector: d.text(),
      findings: d.json<Partial<Record<DomainRecordPurpose, RecordFinding>>>().notNull(),
      check_error: d.text(),
      /** The start of the last check, which limits the rate of checks. */
      check_began_at: d.time(),
      checked_at: d.time(),
      /** The time of the next check by the service; null if the domain holds no claim. */
      check_due_at: d.time(),
      verified_at: d.time(),
      failing_since: d.time(),
      created_at: d.time().notNull(),
      updated_at: d.time().notNull(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.id] }),
      d.uniqueIndex('sending_domains_domain').on(t.workspace_id, t.domain),
      d.index('sending_domains_check').on(t.check_due_at),
    ],
  )
  /** The workspace that proved its control of a domain. Only one workspace can hold a domain. */
  const domain_claims = d.table('domain_claims', {
    domain: d.text().primaryKey(),
    workspace_id: d.text().notNull(),
    domain_id: d.text().notNull(),
    claimed_at: d.time().notNull(),
  })
  return { sending_domains, domain_claims }
}
