import { useState } from 'preact/hooks'
import type { OperatorSetting } from '../../../src/console/operator/wire.ts'
import { Badge, Empty, Form, Loaded, PageHead, Table, TextInput, toast } from '../../parts/index.ts'
import { fieldError } from '../../shell/api.ts'
import { facts } from '../../shell/facts.ts'
import { useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import { operator } from '../../shell/session.ts'

function Password() {
  const [current, setCurrent] = useState('')
  const [next, setNext] = useState('')
  return (
    <Form
      action="Change my password"
      onSubmit={async () => {
        const json = { current_password: current, new_password: next }
        await ownApi.send('POST', '/operator/password', json)
        operator.value = null
        toast('Sign in with the new password')
      }}
    >
      {(error) => (
        <>
          <TextInput
            label="Current password"
            type="password"
            autocomplete="current-password"
            required
            error={fieldError(error, 'current_password')}
            value={current}
            onInput={setCurrent}
          />
          <TextInput
            label="New password"
            type="password"
            autocomplete="new-password"
            required
            hint="All your sessions end, this one too."
            error={fieldError(error, 'new_password')}
            value={next}
            onInput={setNext}
          />
        </>
      )}
    </Form>
  )
}

function Settings() {
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
      <Loaded of={load}>
        {({ settings }) =>
          settings === null || settings.length === 0 ? (
            <Empty icon="settings" title="The host of this console has the settings" />
          ) : (
            <Table
              label="Settings"
              rows={settings}
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
          <Password />
        </section>
      )}
    </>
  )
}

export default { title: 'Service settings', Page: Settings }
