import { useState } from 'preact/hooks'
import { fieldError } from '../shell/api.ts'
import { useLoad } from '../shell/load.ts'
import { ownApi } from '../shell/own-api.ts'
import { createPasskey, hasPasskeys, type PasskeyOptions } from '../shell/passkey.ts'
import { rich, t } from '../shell/text.ts'
import { Button } from './button.tsx'
import { Copy } from './copy.tsx'
import { FormDialog, PasswordDialog } from './dialog.tsx'
import { TextInput } from './field.tsx'
import { Form } from './form.tsx'
import { Loaded } from './loaded.tsx'
import { type Column, Table } from './table.tsx'
import { toast } from './toast.tsx'
import { Time } from './values.tsx'

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
      action={t('Change the password')}
      onSubmit={async () => {
        await onSubmit({ current_password: current, new_password: next })
        toast(t('Sign in with the new password'))
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
            label={t('Current password')}
            type="password"
            autocomplete="current-password"
            required
            error={fieldError(error, 'current_password')}
            value={current}
            onInput={setCurrent}
          />
          <TextInput
            label={t('New password')}
            type="password"
            autocomplete="new-password"
            required
            hint={t('All your sessions end, this one too.')}
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

interface Passkey {
  id: string
  name: string
  created_at: string
  last_used_at: string | null
}

const PASSKEYS: readonly Column<Passkey>[] = [
  { name: t('Passkey'), kind: 'main', value: ({ name }) => name },
  { name: t('Added'), value: ({ created_at }) => <Time at={created_at} /> },
  { name: t('Last used'), value: ({ last_used_at: at }) => (at ? <Time at={at} /> : t('never')) },
]

/** The second factor of the person: an authenticator app, and passkeys. */
export function SecondFactor({
  path,
  code: codeField,
  onChanged,
}: {
  /** Of the endpoints. */
  path: string
  /** The field of the request with the code. */
  code: 'code' | 'otp'
  /** Called after a factor was added, when the recovery codes are shown. */
  onChanged?(): void
}) {
  const load = useLoad(
    async (signal) => ({
      ...(await ownApi.get<Factor>(path, {}, signal)),
      ...(await ownApi.get<{ passkeys: Passkey[] }>(`${path}/passkeys`, {}, signal)),
    }),
    [],
  )
  const [dialog, setDialog] = useState<Dialog>()
  const [made, setMade] = useState<{ secret: string; uri: string }>()
  const [codes, setCodes] = useState<string[]>([])
  const [code, setCode] = useState('')
  const post = <T,>(to: string, json: object) => ownApi.send<T>('POST', path + to, json)
  async function added({ recovery_codes }: { recovery_codes: string[] }) {
    if (recovery_codes.length > 0) setCodes(recovery_codes)
    setMade(undefined)
    load.reload()
    onChanged?.()
  }
  return (
    <Loaded of={load}>
      {({ since, recovery_codes, passkeys }) => (
        <>
          {codes.length > 0 && (
            <>
              <p>{t('Keep these recovery codes. Each signs in once; they are not shown again.')}</p>
              <Copy value={codes.join(' ')} />
            </>
          )}
          {made ? (
            <Form
              action={t('Confirm')}
              onSubmit={async () => added(await post('/confirm', { code: code.trim() }))}
            >
              {(error) => (
                <>
                  <p>
                    {rich('Add this key to your authenticator app, or {a}.', {
                      a: <a href={made.uri}>{t('open the app')}</a>,
                    })}
                  </p>
                  <Copy value={made.secret} />
                  <TextInput
                    label={t('Code of the app')}
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
                {since === null && passkeys.length === 0
                  ? t('Your sign-in needs only the password.')
                  : t(
                      'Your sign-in needs more than the password. Recovery codes left: {recovery_codes}.',
                      { recovery_codes },
                    )}
              </p>
              {passkeys.length > 0 && (
                <Table
                  label={t('Passkeys')}
                  columns={PASSKEYS}
                  rows={passkeys}
                  keyOf={({ id }) => id}
                  actions={({ id, name }) => (
                    <>
                      <Button onClick={() => setDialog({ renames: id, name })}>
                        {t('Rename')}
                      </Button>
                      <Button
                        onClick={() =>
                          setDialog({
                            title: t('Remove the passkey {name}?', { name }),
                            text: t('You can no longer sign in with it.'),
                            action: t('Remove'),
                            async onSubmit(json) {
                              await post(`/passkeys/${id}/end`, json)
                              load.reload()
                            },
                          })
                        }
                      >
                        {t('Remove')}
                      </Button>
                    </>
                  )}
                />
              )}
              <div class="actions">
                {since === null ? (
                  <Button
                    onClick={() =>
                      setDialog({
                        title: t('Add an authenticator app'),
                        text: t('Your other sessions end.'),
                        action: t('Add'),
                        async onSubmit(json) {
                          setCode('')
                          setMade(await post('', json))
                        },
                      })
                    }
                  >
                    {t('Add an authenticator app')}
                  </Button>
                ) : (
                  <Button
                    onClick={() =>
                      setDialog({
                        title: t('Remove the authenticator app?'),
                        text: t('Your sign-in then needs no code of it.'),
                        action: t('Remove'),
                        more: [codeField, t('Code of your app, or a recovery code')],
                        async onSubmit(json) {
                          await post('/end', json)
                          setCodes([])
                          load.reload()
                        },
                      })
                    }
                  >
                    {t('Remove the app')}
                  </Button>
                )}
                {hasPasskeys && (
                  <Button
                    onClick={() =>
                      setDialog({
                        title: t('Add a passkey'),
                        text: t('Your other sessions end.'),
                        action: t('Add'),
                        more: ['name', t('Name of the passkey')],
                        async onSubmit({ name, ...json }) {
                          const options = await post<PasskeyOptions>('/passkeys/begin', json)
                          const passkey = await createPasskey(options)
                          await added(await post('/passkeys', { passkey, name }))
                        },
                      })
                    }
                  >
                    {t('Add a passkey')}
                  </Button>
                )}
              </div>
            </>
          )}
          {dialog &&
            ('renames' in dialog ? (
              <FormDialog
                title={t('Rename the passkey')}
                action={t('Save')}
                onClose={() => setDialog(undefined)}
                onSubmit={async () => {
                  const { renames, name } = dialog
                  await ownApi.send('PUT', `${path}/passkeys/${renames}`, { name })
                  setDialog(undefined)
                  load.reload()
                }}
              >
                {(error) => (
                  <TextInput
                    label={t('Name of the passkey')}
                    required
                    error={fieldError(error, 'name')}
                    value={dialog.name}
                    onInput={(name) => setDialog({ ...dialog, name })}
                  />
                )}
              </FormDialog>
            ) : (
              <PasswordDialog {...dialog} onClose={() => setDialog(undefined)} />
            ))}
        </>
      )}
    </Loaded>
  )
}

type Dialog =
  | Omit<Parameters<typeof PasswordDialog>[0], 'onClose'>
  | { renames: string; name: string }
