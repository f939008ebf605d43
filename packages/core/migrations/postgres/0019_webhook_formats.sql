ALTER TABLE "api_keys" ADD COLUMN "sealed_key" text;--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "status_callback" json;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "format" text DEFAULT 'svc' NOT NULL;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "api_key_id" text;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "callback_origin" text;--> statement-breakpoint
CREATE UNIQUE INDEX "webhooks_callback_origin" ON "webhooks" USING btree ("workspace_id","api_key_id","callback_origin") WHERE callback_origin is not null;