import { useState } from 'preact/hooks'
import { fieldError } from '../shell/api.ts'
import { useLoad } from '../shell/load.ts'
import { ownApi } from '../shell/own-api.ts'
import { Button } from './button.tsx'
import { Copy } from './copy.tsx'
import { TextInput } from './field.tsx'
import { Form } from './form.tsx'
import { Loaded } from './loaded.tsx'
import { PasswordDialog } from './password-dialog.tsx'
import { toast } from './toast.tsx'

/** Changes the password of the person. `onSubmit` sends it; all sessions end then. */
export function ChangePassword({
  name,
  onSubmit,
}: {
  /** With which the person signs in, for password managers. */
  name: string
  onSubmit(json: { current_password: string; new_password: string }): Promise<void>
}) {
  const [current, setCurrent] = useState('')
  const [next, setNext] = useState('')
  return (
    <Form
      action="Change the password"
      onSubmit={async () => {
        await onSubmit({ current_password: current, new_password: next })
        toast('Sign in with the new password')
      }}
    >
      {(error) => (
        <>
          <input
            type="text"
            class="unseen"
            autocomplete="username"
            value={name}
            readOnly
            tabIndex={-1}
            aria-hidden="true"
          />
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

/** The second factor of the person: adds and removes an authenticator app. */
export function SecondFactor({
  path,
  code: codeField,
  onChanged,
}: {
  /** Of the endpoints. */
  path: string
  /** The field of the request with the code. */
  code: 'code' | 'otp'
  /** Called after the app was added, when the recovery codes are shown. */
  onChanged?(): void
}) {
  const load = useLoad((signal) => ownApi.get<Factor>(path, {}, signal), [])
  const [asks, setAsks] = useState(false)
  const [made, setMade] = useState<{ secret: string; uri: string }>()
  const [codes, setCodes] = useState<string[]>([])
  const [code, setCode] = useState('')
  return (
    <Loaded of={load}>
      {({ since, recovery_codes }) => (
        <>
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
                const json = { code: code.trim() }
                const confirmed = await ownApi.send<{ recovery_codes: string[] }>(
                  'POST',
                  `${path}/confirm`,
                  json,
                )
                setCodes(confirmed.recovery_codes)
                setMade(undefined)
                load.reload()
                onChanged?.()
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
              text={
                since === null
                  ? 'Your other sessions end.'
                  : 'Your sign-in then needs only the password.'
              }
              action={since === null ? 'Add' : 'Remove'}
              {...(since !== null && { code: codeField })}
              onClose={() => setAsks(false)}
              onSubmit={async (json) => {
                setCodes([])
                setCode('')
                if (since === null) setMade(await ownApi.send('POST', path, json))
                else {
                  await ownApi.send('POST', `${path}/end`, json)
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
