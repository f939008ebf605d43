CREATE TABLE "webhook_failures" (
	"workspace_id" text NOT NULL,
	"webhook_id" text NOT NULL,
	"slot" integer NOT NULL,
	"delivery_id" text NOT NULL,
	"number" integer NOT NULL,
	"at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "webhook_failures_workspace_id_webhook_id_slot_pk" PRIMARY KEY("workspace_id","webhook_id","slot")
);
--> statement-breakpoint
CREATE TABLE "webhook_hours" (
	"workspace_id" text NOT NULL,
	"webhook_id" text NOT NULL,
	"hour" integer NOT NULL,
	"outcome" text NOT NULL,
	"step" integer NOT NULL,
	"count" bigint NOT NULL,
	CONSTRAINT "webhook_hours_workspace_id_webhook_id_hour_outcome_step_pk" PRIMARY KEY("workspace_id","webhook_id","hour","outcome","step")
);
--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "failed_attempts" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "failing_since" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "notice" text DEFAULT 'no' NOT NULL;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "disabled_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "workspaces" ADD COLUMN "webhook_mails" boolean DEFAULT true NOT NULL;--> statement-breakpoint
CREATE INDEX "webhook_hours_hour" ON "webhook_hours" USING btree ("hour");--> statement-breakpoint
CREATE INDEX "webhooks_notice" ON "webhooks" USING btree ("workspace_id","id") WHERE notice in ('failing_due', 'disabled_due') and callback_origin is null;