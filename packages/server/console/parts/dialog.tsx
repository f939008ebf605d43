import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { fieldError } from '../shell/api.ts'
import { t } from '../shell/text.ts'
import { Button } from './button.tsx'
import { Copy } from './copy.tsx'
import { TextInput } from './field.tsx'
import { Form } from './form.tsx'

/**
 * A dialog over the page. Esc and a click beside it call `onClose`, unless it `isKept`; the focus returns to the element before, or
 * to the page. `side`: at the right edge, for details.
 */
export function Dialog({
  title,
  children,
  actions,
  side = false,
  isKept = false,
  onClose,
}: {
  title: ComponentChildren
  children: ComponentChildren
  /** Buttons at the end. */
  actions?: ComponentChildren
  side?: boolean
  /** Whether a click beside the dialog leaves it open; with `always`, Esc too. */
  isKept?: boolean | 'always'
  onClose(): void
}) {
  const element = useRef<HTMLDialogElement>(null)
  // Before the next key: what is typed at once belongs to the dialog.
  useLayoutEffect(() => {
    const { current } = element
    const before = document.activeElement as HTMLElement | null
    current?.showModal()
    return () => {
      current?.close()
      // Without it the next Tab would begin at the top of the page.
      const isKept = before?.isConnected && before !== document.body
      const next = isKept ? before : document.getElementById('content')
      next?.focus({ preventScroll: true })
    }
  }, [])
  return (
    <dialog
      ref={element}
      class={side ? 'drawer' : 'dialog'}
      aria-labelledby="dialog-title"
      onCancel={(event) => {
        event.preventDefault()
        if (isKept !== 'always') onClose()
      }}
      onKeyDown={(event) => {
        // Browsers close a dialog at the second Esc, also when its `cancel` is prevented.
        if (isKept === 'always' && event.key === 'Escape') event.preventDefault()
      }}
      onMouseDown={(event) => {
        if (event.target === element.current && !isKept) onClose()
      }}
    >
      <div class="dialog-box">
        <header>
          <h2 id="dialog-title" dir="auto">
            {title}
          </h2>
          <Button kind="quiet" icon="close" label={t('Close')} onClick={onClose} />
        </header>
        <div class="dialog-body">{children}</div>
        {actions && <footer>{actions}</footer>}
      </div>
    </dialog>
  )
}

interface Question {
  title: string
  text: ComponentChildren
  action: string
  /** The text of the button that changes nothing. */
  cancel?: string
  danger?: boolean
  answer(isConfirmed: boolean): void
}

const asked = signal<Question | null>(null)

/** Asks before a change; resolves to whether the person confirmed it: `if (await confirm({ … })) …`. */
export function confirm(question: Omit<Question, 'answer'>): Promise<boolean> {
  return new Promise((resolve) => {
    asked.value = {
      ...question,
      answer(isConfirmed) {
        asked.value = null
        resolve(isConfirmed)
      },
    }
  })
}

/** The question of `confirm`; the layout has it once. */
export function Confirmation() {
  const question = asked.value
  if (!question) return null
  const { title, text, action, cancel = t('Cancel'), danger, answer } = question
  return (
    <Dialog
      title={title}
      onClose={() => answer(false)}
      actions={
        <>
          <Button onClick={() => answer(false)}>{cancel}</Button>
          <Button kind={danger ? 'danger' : 'primary'} onClick={() => answer(true)}>
            {action}
          </Button>
        </>
      }
    >
      <p>{text}</p>
    </Dialog>
  )
}

/** Details at the right edge of a list; on a phone the whole screen. Esc closes it. */
export function Drawer(props: {
  title: ComponentChildren
  children: ComponentChildren
  actions?: ComponentChildren
  onClose(): void
}) {
  return <Dialog {...props} side />
}

/** A form in a dialog. `onSubmit` sends it, and closes the dialog itself. */
export function FormDialog({
  title,
  onClose,
  ...form
}: Omit<Parameters<typeof Form>[0], 'onCancel'> & { title: string; onClose(): void }) {
  return (
    <Dialog title={title} onClose={onClose}>
      <Form {...form} onCancel={onClose} />
    </Dialog>
  )
}

/** Shows a secret that is never shown again. Neither Esc nor a click beside the dialog closes it. */
export function SecretDialog({
  title,
  secret,
  children,
  onClose,
}: {
  title: string
  secret: string
  children?: ComponentChildren
  onClose(): void
}) {
  return (
    <Dialog
      title={title}
      onClose={onClose}
      isKept="always"
      actions={
        <Button kind="primary" onClick={onClose}>
          {t('I have stored it')}
        </Button>
      }
    >
      <div class="form">
        <p>{t('Copy it now: it is shown only once.')}</p>
        <div class="secret">
          <Copy value={secret} />
        </div>
        {children}
      </div>
    </Dialog>
  )
}

/**
 * Asks for the password of the person before a change, and with `more` for another text. A person without a password leaves
 * the field empty.
 */
export function PasswordDialog({
  text,
  more,
  onSubmit,
  onClose,
  ...dialog
}: {
  title: string
  text: string
  action: string
  /** The field of the request and the label of the other text. */
  more?: readonly [field: string, label: string]
  onClose(): void
  onSubmit(request: Record<string, string>): Promise<void>
}) {
  const [password, setPassword] = useState('')
  const [other, setOther] = useState('')
  return (
    <FormDialog
      {...dialog}
      danger
      onClose={onClose}
      onSubmit={async () => {
        const json = password === '' ? {} : { current_password: password }
        await onSubmit({ ...json, ...(more && { [more[0]]: other }) })
        onClose()
      }}
    >
      {(error) => (
        <>
          <p>{text}</p>
          <TextInput
            label={t('Your password')}
            type="password"
            autocomplete="current-password"
            autofocus
            error={fieldError(error, 'current_password')}
            value={password}
            onInput={setPassword}
          />
          {more && (
            <TextInput
              label={more[1]}
              autocomplete="one-time-code"
              required
              error={fieldError(error, more[0])}
              value={other}
              onInput={setOther}
            />
          )}
        </>
      )}
    </FormDialog>
  )
}
