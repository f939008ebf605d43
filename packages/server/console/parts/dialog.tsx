import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Button } from './button.tsx'

/**
 * A dialog over the page. Esc and a click beside it call `onClose`; the focus returns to the element before. `side`: at the
 * right edge, for details.
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
  /** Whether a click beside the dialog leaves it open. */
  isKept?: boolean
  onClose(): void
}) {
  const element = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const { current } = element
    const before = document.activeElement as HTMLElement | null
    current?.showModal()
    return () => {
      current?.close()
      before?.focus?.()
    }
  }, [])
  return (
    <dialog
      ref={element}
      class={side ? 'drawer' : 'dialog'}
      aria-labelledby="dialog-title"
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onMouseDown={(event) => {
        if (event.target === element.current && !isKept) onClose()
      }}
    >
      <div class="dialog-box">
        <header>
          <h2 id="dialog-title">{title}</h2>
          <Button kind="quiet" icon="close" label="Close" onClick={onClose} />
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
  const { title, text, action, cancel = 'Cancel', danger, answer } = question
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
