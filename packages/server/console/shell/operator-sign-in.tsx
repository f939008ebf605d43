import { useEffect } from 'preact/hooks'
import { LinkButton } from '../parts/index.ts'
import { facts } from './facts.ts'
import { SignInForm } from './sign-in-form.tsx'

/** The sign-in of operators. */
export function OperatorSignIn() {
  useEffect(() => {
    document.title = `Operator sign-in · ${facts.brand}`
  }, [])
  return (
    <main class="alone">
      <h1>Operate {facts.brand}</h1>
      {facts.sign_in.includes('host') ? (
        <p>
          You are not signed in as an operator. The program that shows this page decides who is one.
        </p>
      ) : (
        <SignInForm path="/operator/session" name="name" code="code" label="Name">
          <p class="small">Operators are added with: svc operators add</p>
        </SignInForm>
      )}
      <LinkButton kind="quiet" to="/">
        Sign in to a workspace
      </LinkButton>
    </main>
  )
}
