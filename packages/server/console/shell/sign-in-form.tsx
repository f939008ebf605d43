import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Button, ErrorBox, TextInput } from '../parts/index.ts'
import { fieldError } from './api.ts'

/** A name and a password; then the code of the second factor, if the service asks for it. */
export function SignInForm({
  label,
  type = 'text',
  code: codeField,
  onSubmit,
  children,
}: {
  /** The label of the name. */
  label: string
  type?: 'text' | 'email'
  /** The field of the request with the code. */
  code: 'code' | 'otp'
  /** Signs in with the name, the password, and the code if there is one. */
  onSubmit(name: string, password: string, code: Record<string, string>): Promise<void>
  children: ComponentChildren
}) {
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const [needsCode, setNeedsCode] = useState(false)
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  async function submit(event: Event) {
    event.preventDefault()
    setBusy(true)
    setError(undefined)
    try {
      await onSubmit(name.trim(), password, code === '' ? {} : { [codeField]: code })
    } catch (failure) {
      // The password is right, and the code is missing.
      if (code === '' && fieldError(failure, codeField) !== undefined) setNeedsCode(true)
      else setError(failure)
      setBusy(false)
    }
  }
  return (
    <form onSubmit={submit}>
      {error !== undefined && <ErrorBox error={error} />}
      <TextInput
        label={label}
        type={type}
        autocomplete="username"
        required
        autofocus
        value={name}
        onInput={setName}
      />
      <TextInput
        label="Password"
        type="password"
        autocomplete="current-password"
        required
        value={password}
        onInput={setPassword}
      />
      {needsCode && (
        <TextInput
          label="Code of your authenticator app"
          autocomplete="one-time-code"
          hint="Or one of your recovery codes."
          required
          autofocus
          value={code}
          onInput={setCode}
        />
      )}
      <Button kind="primary" type="submit" busy={isBusy}>
        Sign in
      </Button>
      {children}
    </form>
  )
}
