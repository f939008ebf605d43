import { useState } from 'preact/hooks'
import { fieldError } from '../shell/api.ts'
import { TextInput } from './field.tsx'
import { FormDialog } from './form-dialog.tsx'

/**
 * Asks for the password of the person before a change, and with `code` for a code of the second factor. A person without a
 * password leaves the field empty.
 */
export function PasswordDialog({
  text,
  code: codeField,
  onSubmit,
  onClose,
  ...dialog
}: {
  title: string
  text: string
  action: string
  /** The field of the request with the code. */
  code?: string
  onClose(): void
  onSubmit(request: Record<string, string>): Promise<void>
}) {
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  return (
    <FormDialog
      {...dialog}
      danger
      onClose={onClose}
      onSubmit={async () => {
        const json = password === '' ? {} : { current_password: password }
        await onSubmit({ ...json, ...(codeField && { [codeField]: code }) })
        onClose()
      }}
    >
      {(error) => (
        <>
          <p>{text}</p>
          <TextInput
            label="Your password"
            type="password"
            autocomplete="current-password"
            autofocus
            error={fieldError(error, 'current_password')}
            value={password}
            onInput={setPassword}
          />
          {codeField && (
            <TextInput
              label="Code of your app, or a recovery code"
              autocomplete="one-time-code"
              required
              error={fieldError(error, codeField)}
              value={code}
              onInput={setCode}
            />
          )}
        </>
      )}
    </FormDialog>
  )
}
