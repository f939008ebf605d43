import type { OperatorSetting } from '../../../src/console-api/operator/answers.ts'
import {
  Badge,
  ChangePassword,
  Empty,
  Loaded,
  PageHead,
  Search,
  SecondFactor,
  Table,
} from '../../parts/index.ts'
import { facts } from '../../shell/facts.ts'
import { useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import { query, setQuery } from '../../shell/router.ts'
import { operator } from '../../shell/session.ts'

function Settings() {
  const search = query.value.get('search') ?? ''
  const load = useLoad(
    (signal) =>
      ownApi.get<{ settings: OperatorSetting[] | null }>('/operator/settings', {}, signal),
    [],
  )
  return (
    <>
      <PageHead
        title="Service settings"
        text="Read-only; secrets are masked. Pages: docs/operating/configuration.md"
      />
      <div class="filters">
        <Search
          placeholder="Name, text or value"
          value={search}
          onInput={(text) => setQuery({ search: text })}
        />
      </div>
      <Loaded of={load}>
        {({ settings }) =>
          settings === null || settings.length === 0 ? (
            <Empty icon="settings" title="The host of this console has the settings" />
          ) : (
            <Table
              label="Settings"
              rows={settings.filter(({ env, summary, value }) =>
                `${env} ${summary} ${value}`.toLowerCase().includes(search.toLowerCase()),
              )}
              keyOf={({ env }) => env}
              columns={[
                {
                  name: 'Setting',
                  kind: 'main',
                  value: ({ env, summary }) => (
                    <>
                      <code>{env}</code>
                      <p class="small">{summary}</p>
                    </>
                  ),
                },
                { name: 'Value', kind: 'wide', value: ({ value }) => value ?? '' },
                {
                  name: 'From',
                  value: ({ source }) => (
                    <Badge tone={source === 'default' ? 'plain' : 'good'}>{source}</Badge>
                  ),
                },
              ]}
            />
          )
        }
      </Loaded>
      {!facts.sign_in.includes('host') && (
        <section class="card section">
          <h2>Your password</h2>
          <ChangePassword
            name={operator.value ?? ''}
            onSubmit={async (json) => {
              await ownApi.send('POST', '/operator/password', json)
              operator.value = null
            }}
          />
          <h2 class="section">Second factor</h2>
          <SecondFactor path="/operator/second-factor" code="code" onChanged={load.reload} />
        </section>
      )}
    </>
  )
}

export default { title: 'Service settings', Page: Settings }
