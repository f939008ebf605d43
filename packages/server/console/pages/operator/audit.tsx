import type { OperatorAuditEntry } from '../../../src/console/operator/answers.ts'
import { Loaded, PageHead, Pager } from '../../parts/index.ts'
import { useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import { query } from '../../shell/router.ts'
import { AuditList } from './audit-list.tsx'

function Audit() {
  const after = query.value.get('after') ?? undefined
  const load = useLoad(
    (signal) =>
      ownApi.get<{ audit_entries: OperatorAuditEntry[]; next_after: string | null }>(
        '/operator/audit',
        { after },
        signal,
      ),
    [after],
  )
  return (
    <>
      <PageHead title="Operators' audit log" text="All workspaces and the service itself" />
      <Loaded of={load}>
        {({ audit_entries, next_after }) => (
          <>
            <section class="card">
              <AuditList entries={audit_entries} />
            </section>
            <Pager next={next_after} noun="entry" />
          </>
        )}
      </Loaded>
    </>
  )
}

export default { title: "Operators' audit log", Page: Audit }
