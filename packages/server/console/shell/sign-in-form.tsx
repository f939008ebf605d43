import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Button, ErrorBox, TextInput } from '../parts/index.ts'
import { fieldError } from './api.ts'
import { ownApi } from './own-api.ts'
import { hasPasskeys, type PasskeyOptions, usePasskey } from './passkey.ts'
import { loadSession } from './session.ts'
import { t } from './text.ts'

/** A name and a password, then the code of the second factor if the service asks for it; or a passkey. */
export function SignInForm({
  path,
  name: nameField,
  code: codeField,
  label,
  onDone,
  children,
}: {
  /** Of the endpoint that begins the session. */
  path: string
  /** The field of the request with the name. */
  name: 'email' | 'name'
  /** The field of the request with the code. */
  code: 'code' | 'otp'
  /** The label of the name. */
  label: string
  onDone?(): void
  children: ComponentChildren
}) {
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const [needsCode, setNeedsCode] = useState(false)
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  async function signIn(send: () => Promise<unknown>) {
    setBusy(true)
    setError(undefined)
    try {
      await send()
      await loadSession()
      onDone?.()
    } catch (failure) {
      // The password is right, and the code is missing.
      if (code === '' && fieldError(failure, codeField)) setNeedsCode(true)
      else setError(failure)
      setBusy(false)
    }
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        const json = { [nameField]: name.trim(), password, ...(code && { [codeField]: code }) }
        return signIn(() => ownApi.send('POST', path, json))
      }}
    >
      {error !== undefined && <ErrorBox error={error} />}
      <TextInput
        label={label}
        type={nameField === 'email' ? 'email' : 'text'}
        autocomplete="username"
        required
        autofocus
        value={name}
        onInput={setName}
      />
      <TextInput
        label={t('Password')}
        type="password"
        autocomplete="current-password"
        required
        error={fieldError(error, 'password')}
        value={password}
        onInput={setPassword}
      />
      {needsCode && (
        <TextInput
          label={t('Code of your authenticator app')}
          autocomplete="one-time-code"
          hint={t('Or one of your recovery codes, or your passkey.')}
          required
          autofocus
          value={code}
          onInput={setCode}
        />
      )}
      <Button kind="primary" type="submit" busy={isBusy}>
        {t('Sign in')}
      </Button>
      {hasPasskeys && (
        <Button
          onClick={() =>
            signIn(async () => {
              const secret = password && { password }
              const known = { [nameField]: name.trim() || undefined, ...secret }
              const passkey = await usePasskey(
                await ownApi.send<PasskeyOptions>('POST', `${path}/challenge`, known),
              )
              await ownApi.send('POST', `${path}/passkey`, { passkey, ...secret })
            })
          }
        >
          {t('Use a passkey')}
        </Button>
      )}
      {children}
    </form>
  )
}
