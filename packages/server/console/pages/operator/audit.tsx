import type { OperatorAuditEntry } from '../../../src/console-api/operator/answers.ts'
import { Badge, Loaded, PageHead, Pager, Time } from '../../parts/index.ts'
import { useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import { hrefOf, query } from '../../shell/router.ts'

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

export function AuditList({ entries }: { entries: readonly OperatorAuditEntry[] }) {
  return (
    <ul class="acts">
      {entries.map(({ id, workspace_id, action, actor, address, target, details, created_at }) => (
        <li key={id}>
          <Badge>{action}</Badge> {actor.id ?? actor.kind}
          {address && ` from ${address}`}, <Time at={created_at} />
          {workspace_id && (
            <p class="small">
              Workspace <a href={hrefOf(`/operator/workspaces/${workspace_id}`)}>{workspace_id}</a>
            </p>
          )}
          <p class="small">
            {target} {details}
          </p>
        </li>
      ))}
    </ul>
  )
}

export default { title: "Operators' audit log", Page: Audit }
