ALTER TABLE "webhooks" ADD COLUMN "accepted_secret" text;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "enabled_at" timestamp (3) with time zone;