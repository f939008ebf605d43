import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { t } from '../shell/text.ts'
import { Button } from './button.tsx'
import { ErrorBox } from './loaded.tsx'

/** Moves the focus to the first wrong field of a form, which on a phone may be far above the button. */
export function focusFault(form: HTMLElement | null): void {
  form?.querySelector<HTMLElement>('[aria-invalid]')?.focus()
}

/**
 * A form. While the promise of `onSubmit` is pending, its button is busy; its error is shown above the fields, unless `children`
 * shows all of it with `fieldError`.
 */
export function Form({
  action,
  danger = false,
  more,
  children,
  onSubmit,
  onCancel,
}: {
  /** The text of the button that sends. */
  action: string
  danger?: boolean
  /** Other buttons beside it. */
  more?: ComponentChildren
  children(error: unknown): ComponentChildren
  onSubmit(): Promise<unknown>
  /** Absent: there is no button to cancel. */
  onCancel?: () => void
}) {
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const element = useRef<HTMLFormElement>(null)
  useEffect(() => {
    if (error !== undefined) focusFault(element.current)
  }, [error])
  async function submit(event: Event) {
    event.preventDefault()
    if (isBusy) return
    setBusy(true)
    setError(undefined)
    try {
      await onSubmit()
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <form class="form" onSubmit={submit} ref={element}>
      {error !== undefined && <ErrorBox error={error} />}
      {children(error)}
      <div class={onCancel ? 'actions end' : 'actions'}>
        {more}
        {onCancel && <Button onClick={onCancel}>{t('Cancel')}</Button>}
        <Button kind={danger ? 'danger' : 'primary'} type="submit" busy={isBusy}>
          {action}
        </Button>
      </div>
    </form>
  )
}
