import type { OperatorAuditEntry } from '../../../src/console-api/operator/answers.ts'
import {
  Badge,
  Button,
  DayInput,
  Empty,
  Loaded,
  PageHead,
  Pager,
  Select,
  Time,
} from '../../parts/index.ts'
import { useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import { filtersOf, hrefOf, setQuery, timesOf } from '../../shell/router.ts'
import { rich, t } from '../../shell/text.ts'
import { actorName } from '../../shell/words.ts'

interface Answer {
  audit_entries: OperatorAuditEntry[]
  next_after: string | null
  actions: string[]
}

function Audit() {
  const filter = filtersOf('action', 'workspace_id', 'startDate', 'endDate', 'after')
  const load = useLoad(
    (signal) => {
      const times = timesOf(filter)
      const startDate = times.startDate?.toISOString()
      const endDate = times.endDate?.toISOString()
      return ownApi.get<Answer>('/operator/audit', { ...filter, startDate, endDate }, signal)
    },
    [filter],
  )
  return (
    <>
      <PageHead
        title={t("Operators' audit log")}
        text={t('All workspaces and the service itself')}
      />
      <div class="filters">
        <Select
          bare
          label={t('Action')}
          value={filter.action ?? ''}
          options={[
            ['', t('All actions')],
            ...(load.data?.actions ?? []).map((one) => [one, one] as const),
          ]}
          onInput={(action) => setQuery({ action })}
        />
        <DayInput
          label={t('From')}
          value={filter.startDate ?? ''}
          onInput={(startDate) => setQuery({ startDate })}
        />
        <DayInput
          label={t('Until')}
          value={filter.endDate ?? ''}
          onInput={(endDate) => setQuery({ endDate })}
        />
        {filter.workspace_id && (
          <Button icon="close" onClick={() => setQuery({ workspace_id: '' })}>
            {t('One workspace only')}
          </Button>
        )}
      </div>
      <Loaded of={load}>
        {({ audit_entries, next_after }) =>
          audit_entries.length === 0 ? (
            <Empty icon="audit" title={t('No entries in this selection')} />
          ) : (
            <>
              <section class="card">
                <AuditList entries={audit_entries} />
              </section>
              <Pager next={next_after} noun="entry" plural="entries" />
            </>
          )
        }
      </Loaded>
    </>
  )
}

export function AuditList({ entries }: { entries: readonly OperatorAuditEntry[] }) {
  return (
    <ul class="acts">
      {entries.map((entry) => (
        <li key={entry.id}>
          <Badge>{entry.action}</Badge>{' '}
          {entry.address
            ? t('{name} from {address}', { name: actorName(entry.actor), address: entry.address })
            : actorName(entry.actor)}
          , <Time at={entry.created_at} />
          {entry.workspace_id && (
            <p class="small">
              {rich('Workspace {a}', {
                a: (
                  <a href={hrefOf(`/operator/workspaces/${entry.workspace_id}`)}>
                    {entry.workspace_name ?? entry.workspace_id}
                  </a>
                ),
              })}
            </p>
          )}
          <p class="small">
            {entry.target} {entry.details}
          </p>
        </li>
      ))}
    </ul>
  )
}

export default { title: t("Operators' audit log"), Page: Audit }
