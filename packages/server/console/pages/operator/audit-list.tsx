import type { OperatorAuditEntry } from '../../../src/console/operator/answers.ts'
import { Badge, Time } from '../../parts/index.ts'

export function AuditList({ entries }: { entries: readonly OperatorAuditEntry[] }) {
  return (
    <ul class="acts">
      {entries.map(({ id, action, actor, target, details, created_at }) => (
        <li key={id}>
          <Badge>{action}</Badge> {actor.id ?? actor.kind}, <Time at={created_at} />
          <p class="small">
            {target} {details}
          </p>
        </li>
      ))}
    </ul>
  )
}
