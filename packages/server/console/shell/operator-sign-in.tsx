import { useEffect, useState } from 'preact/hooks'
import { Button, ErrorBox, LinkButton, TextInput } from '../parts/index.ts'
import { fieldError } from './api.ts'
import { facts } from './facts.ts'
import { ownApi } from './own-api.ts'
import { loadSession } from './session.ts'

/** The sign-in of operators. */
export function OperatorSignIn() {
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const [needsCode, setNeedsCode] = useState(false)
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  useEffect(() => {
    document.title = `Operator sign-in · ${facts.brand}`
  }, [])
  async function submit(event: Event) {
    event.preventDefault()
    setBusy(true)
    setError(undefined)
    try {
      const json = { name: name.trim(), password, ...(code && { code }) }
      await ownApi.send('POST', '/operator/session', json)
      await loadSession()
    } catch (failure) {
      // The password is right, and the code is missing.
      const isAsked = fieldError(failure, 'code') !== undefined && code === ''
      if (isAsked) setNeedsCode(true)
      else setError(failure)
    }
    setBusy(false)
  }
  return (
    <main class="alone">
      <h1>Operate {facts.brand}</h1>
      {facts.sign_in.includes('host') ? (
        <p>
          You are not signed in as an operator. The program that shows this page decides who is one.
        </p>
      ) : (
        <form onSubmit={submit}>
          {error !== undefined && <ErrorBox error={error} />}
          <TextInput
            label="Name"
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
          <p class="small">Operators are added with: svc operators add</p>
        </form>
      )}
      <LinkButton kind="quiet" to="/">
        Sign in to a workspace
      </LinkButton>
    </main>
  )
}
