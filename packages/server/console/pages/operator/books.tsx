import type { OperatorBackups, OperatorLedger } from '../../../src/console-api/operator/answers.ts'
import { Badge, Button, Loaded, PageHead, Table, Time } from '../../parts/index.ts'
import { count, number } from '../../shell/format.ts'
import type { Load } from '../../shell/load.ts'
import { send, usePolled } from './polled.ts'

function Books() {
  const ledger = usePolled<OperatorLedger>('/ledger')
  const backups = usePolled<OperatorBackups>('/backups')
  const start = (load: Load<unknown>, path: string) => async () => {
    await send(path)
    load.reload()
  }
  return (
    <>
      <PageHead title="Ledger and backups" />
      <div class="stack">
        <section class="card">
          <h2>Ledger</h2>
          <Loaded of={ledger}>
            {({ is_offered, state, progress, report, error, started_at }) => (
              <>
                {!is_offered && (
                  <p>The host of this console verifies the ledger with svc ledger verify.</p>
                )}
                {state === 'running' && (
                  <p>
                    Verifying{' '}
                    {progress && (
                      <>
                        {progress.name}:{' '}
                        <progress
                          value={progress.done}
                          max={progress.total}
                          aria-label="Progress"
                        />
                      </>
                    )}
                  </p>
                )}
                {error && (
                  <p>
                    <Badge tone="bad">failed</Badge> {error}
                  </p>
                )}
                {report && (
                  <p>
                    <Badge tone={report.ok ? 'good' : 'bad'}>
                      {report.ok ? 'consistent' : 'inconsistent'}
                    </Badge>{' '}
                    {count(report.entries, 'entry', 'entries')},{' '}
                    {count(report.workspaces, 'workspace')}, {count(report.messages, 'message')}{' '}
                    {started_at && <Time at={started_at} />}
                  </p>
                )}
                {report && !report.ok && (
                  <Table
                    label="Differences"
                    rows={report.differences}
                    keyOf={(one) => JSON.stringify(one)}
                    columns={[
                      { name: 'Check', kind: 'main', value: ({ check }) => check },
                      { name: 'Workspace', value: (one) => one.workspace_id },
                      { name: 'Stands', value: ({ stands }) => stands },
                      { name: 'Should be', value: ({ should }) => should },
                    ]}
                  />
                )}
                {is_offered && (
                  <Button disabled={state === 'running'} onClick={start(ledger, '/ledger')}>
                    Verify the ledger
                  </Button>
                )}
              </>
            )}
          </Loaded>
        </section>
        <section class="card">
          <h2>Backups</h2>
          <Loaded of={backups}>
            {({ is_offered, dir, every_ms, backups: made, state, error }) =>
              is_offered ? (
                <>
                  <p class="small">
                    {every_ms === null
                      ? 'No backups are scheduled: set SVC_BACKUP_EVERY.'
                      : `Every ${number(every_ms / 3_600_000)} h`}{' '}
                    Folder: {dir}. Each backup is verified when it is made.
                  </p>
                  {error && (
                    <p>
                      <Badge tone="bad">failed</Badge> {error}
                    </p>
                  )}
                  {made.length > 0 && (
                    <Table
                      label="Backups"
                      rows={made}
                      keyOf={({ name }) => name}
                      columns={[
                        { name: 'File', kind: 'main', value: ({ name }) => name },
                        {
                          name: 'Size',
                          kind: 'number',
                          value: ({ bytes }) => `${number(Math.ceil(bytes / 1024))} KB`,
                        },
                        { name: 'Made and verified', value: ({ at }) => <Time at={at} /> },
                      ]}
                    />
                  )}
                  {state === 'running' && (
                    <p>
                      The backup is being made and verified <progress aria-label="Progress" />
                    </p>
                  )}
                  <Button disabled={state === 'running'} onClick={start(backups, '/backups')}>
                    Make a backup now
                  </Button>
                </>
              ) : (
                <p>This server makes no backups. PostgreSQL is backed up with its own tools.</p>
              )
            }
          </Loaded>
        </section>
      </div>
    </>
  )
}

export default { title: 'Ledger and backups', Page: Books }
