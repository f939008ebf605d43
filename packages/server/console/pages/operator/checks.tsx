import { useState } from 'preact/hooks'
import type { OperatorCheck } from '../../../src/console/operator/answers.ts'
import { Badge, Button, Table } from '../../parts/index.ts'
import { send } from './polled.ts'

/** The checks of `svc doctor`. */
export function Checks() {
  const [checks, setChecks] = useState<OperatorCheck[] | null>(null)
  const run = async () => setChecks((await send<{ checks: OperatorCheck[] }>('/checks')).checks)
  return (
    <section class="card">
      <h2>Checks</h2>
      <p class="small">
        As svc doctor: disk, database, ledger, secrets, providers, webhooks, domains, backups.
      </p>
      {checks && (
        <Table
          label="Checks"
          rows={checks}
          keyOf={({ check, message }) => check + message}
          columns={[
            { name: 'Check', kind: 'main', value: ({ check }) => check },
            {
              name: 'Level',
              value: ({ level }) => (
                <Badge tone={({ ok: 'good', warning: 'warn', error: 'bad' } as const)[level]}>
                  {level}
                </Badge>
              ),
            },
            {
              name: 'Result',
              kind: 'wide',
              value: ({ message, advice }) => (advice ? `${message}: ${advice}` : message),
            },
          ]}
        />
      )}
      <Button icon="check" onClick={run}>
        Run the checks
      </Button>
    </section>
  )
}
