import { useState } from 'preact/hooks'
import type { OperatorSetting } from '../../../src/console/operator/wire.ts'
import {
  Badge,
  Button,
  Copy,
  Empty,
  Form,
  Loaded,
  PageHead,
  PasswordDialog,
  Table,
  TextInput,
  toast,
} from '../../parts/index.ts'
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

interface Factor {
  since: string | null
  recovery_codes: number
}

function SecondFactor() {
  const load = useLoad((signal) => ownApi.get<Factor>('/operator/second-factor', {}, signal), [])
  const [asks, setAsks] = useState(false)
  const [made, setMade] = useState<{ secret: string; uri: string }>()
  const [codes, setCodes] = useState<string[]>([])
  const [code, setCode] = useState('')
  const path = '/operator/second-factor'
  return (
    <Loaded of={load}>
      {({ since, recovery_codes }) => (
        <>
          <h2 class="section">Second factor</h2>
          {codes.length > 0 && (
            <>
              <p>Keep these recovery codes. Each signs in once; they are not shown again.</p>
              <Copy value={codes.join(' ')} />
            </>
          )}
          {made ? (
            <Form
              action="Confirm"
              onSubmit={async () => {
                const confirmed = await ownApi.send<{ recovery_codes: string[] }>(
                  'POST',
                  `${path}/confirm`,
                  { code: code.trim() },
                )
                setCodes(confirmed.recovery_codes)
                setMade(undefined)
                load.reload()
              }}
            >
              {(error) => (
                <>
                  <p>
                    Add this key to your authenticator app, or <a href={made.uri}>open the app</a>.
                  </p>
                  <Copy value={made.secret} />
                  <TextInput
                    label="Code of the app"
                    autocomplete="one-time-code"
                    required
                    error={fieldError(error, 'code')}
                    value={code}
                    onInput={setCode}
                  />
                </>
              )}
            </Form>
          ) : (
            <>
              <p>
                {since === null
                  ? 'Your sign-in needs only the password.'
                  : `Your sign-in needs a code of your app. Recovery codes left: ${recovery_codes}.`}
              </p>
              <Button onClick={() => setAsks(true)}>
                {since === null ? 'Add an authenticator app' : 'Remove the app'}
              </Button>
            </>
          )}
          {asks && (
            <PasswordDialog
              title={since === null ? 'Add an authenticator app' : 'Remove the authenticator app?'}
              text="Enter the password with which you sign in as an operator."
              action={since === null ? 'Add' : 'Remove'}
              onClose={() => setAsks(false)}
              onSubmit={async (json) => {
                if (since === null) setMade(await ownApi.send('POST', path, json))
                else {
                  await ownApi.send('POST', `${path}/end`, json)
                  setCodes([])
                  load.reload()
                }
              }}
            />
          )}
        </>
      )}
    </Loaded>
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
          <SecondFactor />
        </section>
      )}
    </>
  )
}

export default { title: 'Service settings', Page: Settings }
