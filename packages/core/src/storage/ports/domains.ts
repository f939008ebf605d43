import type { Slice } from '../../contract/endpoints/paging.ts'
import type { DomainStatus } from '../../contract/resources/domains.ts'
import type { SendingDomainRow } from '../../rows/rows.ts'

/** The columns of a sending domain that change. */
export type SendingDomainChange = Partial<
  Omit<SendingDomainRow, 'workspace_id' | 'id' | 'domain' | 'created_at'>
>

export interface SendingDomainReads {
  byId(workspaceId: string, domainId: string): Promise<SendingDomainRow | null>
  byName(workspaceId: string, domain: string): Promise<SendingDomainRow | null>
  /** Returns the newest first. */
  list(workspaceId: string, page: Slice): Promise<SendingDomainRow[]>
  count(workspaceId: string): Promise<number>
  /** Domains of all workspaces whose check is due, the most overdue first. */
  due(
    now: Date,
    limit: number,
  ): Promise<Pick<SendingDomainRow, 'workspace_id' | 'id' | 'check_due_at'>[]>
  /** Domains of all workspaces with one of these statuses, for the operator. */
  ofAll(statuses: readonly DomainStatus[], limit: number): Promise<SendingDomainRow[]>
}

export interface SendingDomainWrites {
  insert(domain: SendingDomainRow): Promise<void>
  /** The domain, locked until the transaction ends. */
  lock(workspaceId: string, domainId: string): Promise<SendingDomainRow | null>
  change(workspaceId: string, domainId: string, change: SendingDomainChange): Promise<void>
  /** Removes the domain and its claim. Returns false when there is no such domain. */
  remove(workspaceId: string, domainId: string): Promise<boolean>
  /** Claims the name of the domain; false if another domain holds it. */
  claim(
    domain: Pick<SendingDomainRow, 'workspace_id' | 'id' | 'domain'>,
    at: Date,
  ): Promise<boolean>
  release(workspaceId: string, domainId: string): Promise<void>
}
